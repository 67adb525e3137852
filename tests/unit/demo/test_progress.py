"""How far a run has come, on paper and in a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from p2psub.demo.progress import open_reporter


def test_without_a_terminal_there_is_a_line_per_stage() -> None:
    """With the seconds since the beginning; progress inside a stage is not told."""
    paper = io.StringIO()
    seconds = iter([10.0, 10.5, 12.0, 13.0])
    with open_reporter(Console(file=paper, width=80), lambda: next(seconds)) as reporter:
        reporter.begin("forming", 16)
        reporter.progress(3)
        reporter.note("killed [a] peer")
        reporter.begin("ending", 0)
    assert paper.getvalue().splitlines() == [
        "   0.5 s  forming (16)",
        "   2.0 s  killed [a] peer",
        "   3.0 s  ending",
    ]


def test_in_a_terminal_there_is_a_bar_per_stage() -> None:
    """A stage that is over is shown as done, counted or not."""
    screen = io.StringIO()
    with open_reporter(Console(file=screen, width=80, force_terminal=True), lambda: 0.0) as reporter:
        reporter.begin("forming", 16)
        reporter.progress(3)
        reporter.begin("ending", 0)
    shown = screen.getvalue()
    assert "forming" in shown
    assert "16/16" in shown
    assert "ending" in shown
    assert "1/1" in shown
