"""`p2psub analyze --follow`: rounds, news, and how it ends; with a follower that only pretends to read."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from p2psub.cli.main import app

FIGURES: dict[str, Any] = {
    "published": 0,
    "matched": 0,
    "delivered": 0,
    "ended": 0,
    "still_owed": 0,
    "lost": 0,
    "missed": 0,
    "unknown": 0,
    "coverage": None,
    "cast_coverage": None,
    "duplicates": 0,
    "duplicate_rate": None,
    "messages_per_cast": None,
    "hops_max": None,
    "latency_ms": {"p50": None, "p99": None, "max": None},
    "failovers": 0,
    "rows": 0,
    "processes": 0,
    "cut": 0,
    "unheard": 0,
    "files": 0,
    "files_skipped": 0,
}


class FakeSession:
    """Is stopped, or not."""

    is_stopped = False

    def stop(self) -> None:
        """As Spark's."""
        FakeSession.is_stopped = True


class FakeFollower:
    """Finds something new in rounds 1 and 3; in round 5 a person presses Ctrl-C."""

    def __init__(self, *_: object) -> None:
        self.rounds = 0

    def read(self) -> bool:
        self.rounds += 1
        if self.rounds == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return self.rounds in {1, 3}

    def figures(self) -> dict[str, Any]:
        return {**FIGURES, "published": self.rounds}


@pytest.fixture(autouse=True)
def _pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeSession.is_stopped = False
    monkeypatch.setattr("p2psub.analysis.session.open_session", lambda *_, **__: FakeSession())
    monkeypatch.setattr("p2psub.analysis.follower.Follower", FakeFollower)


def follow(*options: str) -> Result:
    """Run the command over the current directory."""
    return CliRunner().invoke(app, ["analyze", "--follow", str(Path.cwd()), "--every", "0.001", *options])


def test_a_line_per_round_with_news_and_the_last_after_control_c() -> None:
    """The round that is under way is finished, and one more takes what had arrived by then; the exit code is 0."""
    result = follow("--json")
    assert result.exit_code == 0, result.output
    assert [json.loads(line)["published"] for line in result.stdout.splitlines()] == [1, 3, 6]
    assert FakeSession.is_stopped


def test_control_c_means_what_it_meant_before() -> None:
    """Once the command is over."""
    before = signal.getsignal(signal.SIGINT)
    follow("--json")
    assert signal.getsignal(signal.SIGINT) is before


def test_once_is_one_round() -> None:
    """For people: a table."""
    result = follow("--once")
    assert (result.exit_code, result.stdout.count("1 events")) == (0, 1), result.output


def test_it_ends_when_its_time_is_over() -> None:
    """With figures over all that is there then."""
    result = follow("--for", "0.001", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout.splitlines()[-1])["published"] <= 3
