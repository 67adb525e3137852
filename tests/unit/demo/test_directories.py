"""What a run leaves on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2psub.demo.directories import RunDirectories, trace_bytes_below
from p2psub.errors import ConfigError


def inhabited(root: Path) -> RunDirectories:
    """The directories after a run."""
    directories = RunDirectories.make(root)
    files = ("bootstrap/ca.key", "logs/peer-00.log", "peers/peer-00/key", "peers/peer-00/traces/a.ndjson")
    for name in (*files, "peers/peer-00/store/events"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return directories


def test_only_traces_are_left(tmp_path: Path) -> None:
    """Keys, events and logs go."""
    inhabited(tmp_path).leave_traces()
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()] == [
        Path("peers/peer-00/traces/a.ndjson")
    ]


def test_nothing_is_left_of_an_interrupted_run(tmp_path: Path) -> None:
    """Not even the directory."""
    inhabited(tmp_path / "run").leave_nothing()
    assert not (tmp_path / "run").exists()


def test_a_run_takes_no_directory_that_is_in_use(tmp_path: Path) -> None:
    """Whatever is in there is not ours to remove."""
    (tmp_path / "letter").touch()
    with pytest.raises(ConfigError, match=r"state: .* is not empty"):
        RunDirectories.make(tmp_path, "soak", "state")
    assert (tmp_path / "letter").exists()


def test_traces_are_measured_wherever_they_lie(tmp_path: Path) -> None:
    """Those of all peers, and nothing else."""
    directories = inhabited(tmp_path)
    (directories.peers / "peer-00" / "traces" / "a.ndjson").write_bytes(bytes(100))
    (directories.peers / "peer-00" / "key").write_bytes(bytes(9))
    (directories.peers / "peer-01" / "traces").mkdir(parents=True)
    (directories.peers / "peer-01" / "traces" / "b.ndjson").write_bytes(bytes(11))
    assert trace_bytes_below(directories.peers) == 111
