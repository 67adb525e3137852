"""What a run leaves on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2psub.demo.directories import RunDirectories
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
    with pytest.raises(ConfigError, match="not empty"):
        RunDirectories.make(tmp_path)
    assert (tmp_path / "letter").exists()
