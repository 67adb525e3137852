"""The analysis that ends a demo, with a program that pretends to be `p2psub`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from p2psub.demo import analysis
from p2psub.demo.analysis import AnalysisFailed, analyse
from p2psub.demo.directories import RunDirectories
from p2psub.demo.stages import Stages, TooSlow


class Notes:
    """A reporter that keeps what is worth a line."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    def begin(self, stage: str, total: int) -> None:
        """Nothing."""

    def progress(self, done: int) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        self.noted.append(text)


@pytest.fixture
def directories(tmp_path: Path) -> RunDirectories:
    """The directories after a run."""
    return RunDirectories.make(tmp_path / "run")


def pretend(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """`p2psub` is this program for the time of the test."""
    monkeypatch.setattr(analysis, "COMMAND", (sys.executable, "-c", program))


@pytest.mark.parametrize("code", [0, 3])
async def test_figures_come_also_where_a_promise_was_broken(
    monkeypatch: pytest.MonkeyPatch, directories: RunDirectories, code: int
) -> None:
    """They are what the command prints; it is told where traces are and where the report goes."""
    pretend(monkeypatch, f"import json, sys; print(json.dumps({{'said': sys.argv[1:]}})); sys.exit({code})")
    stages = Stages(Notes())
    figures = await analyse(directories, stages, 60)
    assert figures == {"said": ["analyze", str(directories.peers), "--out", str(directories.analysis), "--json"]}
    assert "analysing" in stages.seconds


async def test_what_went_wrong_is_told(monkeypatch: pytest.MonkeyPatch, directories: RunDirectories) -> None:
    """With the advice of the command."""
    pretend(monkeypatch, "import sys; print('there is no Java'); sys.exit(1)")
    with pytest.raises(AnalysisFailed, match="ended with 1: there is no Java"):
        await analyse(directories, Stages(Notes()), 60)


async def test_an_analysis_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch, directories: RunDirectories) -> None:
    """And its process is gone when that is said."""
    pretend(monkeypatch, "import time; time.sleep(600)")
    with pytest.raises(TooSlow, match="the analysis took too long"):
        await analyse(directories, Stages(Notes()), 0.5)


async def test_without_spark_the_demo_says_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, directories: RunDirectories
) -> None:
    """In one line, with what to install."""
    monkeypatch.setattr(analysis, "has_spark", lambda: False)
    notes = Notes()
    assert await analyse(directories, Stages(notes), 60) is None
    assert len(notes.noted) == 1
    assert "pip install 'p2psub[spark]'" in notes.noted[0]
