"""A file is what it was before, or all of what was written."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from p2psub.whole_file import write_whole
from tests.unit.runtime.full_disk import files_limited_to


def test_a_file_is_replaced(tmp_path: Path) -> None:
    """The new content stands under the name, for its owner alone, and nothing else is left."""
    path = tmp_path / "file"
    for content in (b"a long content", b"short"):
        write_whole(path, content)
        assert path.read_bytes() == content
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    """What was there stays, and no half-written draft takes the space that is missing."""
    path = tmp_path / "file"
    write_whole(path, b"old")
    with files_limited_to(100), pytest.raises(OSError, match="File too large"):
        write_whole(path, bytes(1000))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
