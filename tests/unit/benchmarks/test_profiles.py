"""Where the time goes is written for tools and for people."""

from __future__ import annotations

import pstats
from pathlib import Path

from p2psub.bench.profiles import Notes


def watched() -> None:
    """A function that shall be in the notes."""


def unwatched() -> None:
    """A function that shall not."""


def test_what_runs_between_on_and_off_is_noted(tmp_path: Path) -> None:
    """A second dump has only what came after the first."""
    notes = Notes()
    unwatched()
    notes.switch(True)
    watched()
    notes.switch(False)
    unwatched()
    notes.dump(tmp_path / "link-publisher")
    assert "(watched)" in (tmp_path / "link-publisher.txt").read_text()
    assert "(unwatched)" not in (tmp_path / "link-publisher.txt").read_text()
    assert pstats.Stats(str(tmp_path / "link-publisher.pstats")).total_calls > 0  # type: ignore[attr-defined]
    notes.switch(True)
    notes.switch(False)
    notes.dump(tmp_path / "later")
    assert "(watched)" not in (tmp_path / "later.txt").read_text()
