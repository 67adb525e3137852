"""The mean remaining time."""

from __future__ import annotations

import math

from p2psub.queueing.lrt import mean_due_us
from tests.unit.queueing.messages import after, message, stake


def test_the_mean_is_over_pairs() -> None:
    """A stake that stands for three counts thrice; one without a deadline has no remaining time."""
    waiting = message("x", stake(20.0, pairs=3), stake(60.0), stake(None))
    assert mean_due_us(waiting) == after(30.0)


def test_a_timeout_ends_the_remaining_time_too() -> None:
    """Of every pair (5)."""
    assert mean_due_us(message("x", stake(20.0), stake(60.0), stake(None, pairs=2), expires_s=40.0)) == after(35.0)
    assert mean_due_us(message("x", expires_s=40.0)) == after(40.0)
    assert mean_due_us(message("x")) == math.inf
