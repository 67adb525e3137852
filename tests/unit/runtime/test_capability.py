"""A machine's score compares with any other's, and grows with the time that it is online."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from p2psub.runtime.capability import UNFIT, measure

DAY_S = 86_400.0


@pytest.fixture(autouse=True)
def steady_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory and disk do not change while we measure: as many bytes are free as there is room to count."""
    monkeypatch.setattr(os, "sysconf", lambda _: 1 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 60))


def test_a_score_is_between_nothing_and_four_points(tmp_path: Path) -> None:
    """And above that of one who may not rule."""
    assert UNFIT < 0 < measure(tmp_path, 0.0) <= 3
    assert measure(tmp_path, 1000 * DAY_S) <= 4


def test_a_day_online_is_worth_a_point_and_no_more(tmp_path: Path) -> None:
    """So nobody rules for ever by being old."""
    assert measure(tmp_path, DAY_S) == measure(tmp_path, 0.0) + 1 == measure(tmp_path, 50 * DAY_S)
