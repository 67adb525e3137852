"""What `p2psub bench queue` showed."""

from __future__ import annotations

import os
import platform

import msgspec

from p2psub.bench.plan import QueuePlan
from p2psub.compiled import is_compiled


class QueueRate(msgspec.Struct, frozen=True, kw_only=True):
    """One queue. Times are CPU time for each message that leaves, with that of those that come and expire meanwhile."""

    length: int
    subscriptions: int
    """Of each message, each with a deadline and a way of its own."""
    straight_us: float
    """All formulas for all that wait, in Python."""
    vectorised_us: float
    """The same in numpy."""
    queue_us: float
    ratio: float
    """Of straight to queue."""
    same_choice: bool
    """Whether the queue sent and dropped exactly what the straight scan found, each time that was asked."""
    scanned: int
    """How often it was asked."""


class QueueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Under which conditions."""

    pops: int
    seed: int
    cpus: int
    load_average: float
    """Of the machine, over a minute, when it began."""
    python: str
    compiled: bool


class QueueReport(msgspec.Struct, frozen=True, kw_only=True):
    """All queues."""

    results: tuple[QueueRate, ...]
    settings: QueueSettings


def queue_settings_of(plan: QueuePlan) -> QueueSettings:
    """The conditions of a run that begins now."""
    return QueueSettings(
        pops=plan.pops,
        seed=plan.seed,
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        load_average=round(os.getloadavg()[0], 2),
        python=platform.python_version(),
        compiled=is_compiled(),
    )
