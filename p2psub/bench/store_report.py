"""What `p2psub bench store` showed."""

from __future__ import annotations

import os
import platform

import msgspec

from p2psub.bench.plan import StorePlan
from p2psub.compiled import is_compiled


class StoreRate(msgspec.Struct, frozen=True, kw_only=True):
    """With so many publishers. Medians of rounds."""

    events_per_pack: int
    events_per_commit: int
    events_per_s: float
    """Until all are durable."""
    bare_events_per_s: float
    """Of a loop that inserts the same rows, encoded before, and commits as often."""
    ratio: float


class StoreSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Under which conditions."""

    events: int
    rounds: int
    at_once: int
    body_bytes: int
    open_events: int
    open_events_per_pack: int
    cpus: int
    load_average: float
    """Of the machine, over a minute, when it began."""
    python: str
    compiled: bool


class StoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """How fast the store is, and what a store full of events costs."""

    publishers: dict[int, StoreRate]
    open_s: float
    """To open a store with all those events, and to know what is owed."""
    open_rss_mb: float
    """Memory of the whole process that did."""
    read_us_per_event: float
    erase_us_per_event: float
    pause_ms_max: float
    """How long a step had to wait at most, while the store wrote, read and erased."""
    idle_pause_ms_max: float
    """The same while the store did nothing: what the machine itself adds."""
    size_mb: float
    """Of the file with all those events."""
    erased_size_mb: float
    """When they are gone."""
    settings: StoreSettings


def store_settings_of(plan: StorePlan) -> StoreSettings:
    """The conditions of a run that begins now."""
    return StoreSettings(
        events=plan.events,
        rounds=plan.rounds,
        at_once=plan.at_once,
        body_bytes=plan.body_bytes,
        open_events=plan.open_events,
        open_events_per_pack=plan.events_per_pack,
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        load_average=round(os.getloadavg()[0], 2),
        python=platform.python_version(),
        compiled=is_compiled(),
    )
