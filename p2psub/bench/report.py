"""What a benchmark showed, for people and programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from p2psub.api.settings import PeerConfig
from p2psub.bench.bursts import middle
from p2psub.bench.content import EventLoad
from p2psub.bench.event_stream import event_bytes
from p2psub.bench.plan import BenchPlan, BurstPlan, Ownership
from p2psub.compiled import is_compiled
from p2psub.model.content import Guarantee
from p2psub.model.ids import ID_BYTES, NodeId, Place
from p2psub.model.seals import BATCH_MAX

R = TypeVar("R", bound="LinkRound | FilteredRound")


class BenchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Under which conditions figures were found."""

    guarantee: Guarantee
    signatures: str = f"one for up to {BATCH_MAX} events, checked by every receiver"
    traces: bool
    event_bytes: int
    """Of one event, encoded."""
    at_once: int
    is_profiled: bool
    cpus: int
    load_average: float
    """Of the machine, over a minute, when it began."""
    python: str
    compiled: bool
    """Whether peers were of the compiled wheel."""


class BurstSettings(BenchSettings, frozen=True, kw_only=True):
    """Those of bursts."""

    at_most_once_traced: str
    """How many of the events without a promise are traced one by one."""
    owner: Ownership
    events: int
    """In one burst."""
    rounds: int
    figures_are: str = "median of rounds"


class LinkRound(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one round. Rates are from the first publish call to the last hand-over."""

    events_per_s: float
    bare_events_per_s: float
    latency_p50_us: float
    latency_p99_us: float
    bare_latency_p50_us: float
    """A round trip."""
    publish_one_by_one_events_per_s: float
    """`publish` for each event, `batches()` at the other end."""
    take_one_by_one_events_per_s: float
    """`publish_many`, `async for` each event at the other end."""
    publisher_cpu_us_per_event: float
    subscriber_cpu_us_per_event: float
    bare_sender_cpu_us_per_event: float
    bare_receiver_cpu_us_per_event: float
    bytes_per_event: float
    """That the product put on the link, both ways, before TLS."""


class LinkReport(LinkRound, frozen=True, kw_only=True):
    """One publisher and one subscriber beside a bare stream."""

    ratio: float
    """Of the rates: product to bare."""
    latency_ratio: float
    """Of the product, one way, to the bare round trip."""
    effectively_once_events_per_s: float
    effectively_once_cpu_us_per_event: float
    """Of all four peers together."""
    lost: int
    settings: BurstSettings
    rounds: tuple[LinkRound, ...]
    effectively_once_rounds: tuple[float, ...]


class FilteredRound(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one round, per published event."""

    events_per_s: float
    cpu_us_per_event: float
    """Of all processes together."""
    publisher_cpu_us_per_event: float
    bytes_per_event: float
    """On all links together, before TLS."""


class FilteredReport(FilteredRound, frozen=True, kw_only=True):
    """One publisher and subscribers with filters that match 1 % each."""

    subscribers: int
    filter: str
    """Of one of them; the others name other prices."""
    published: int
    delivered: int
    lost: int
    settings: BurstSettings
    rounds: tuple[FilteredRound, ...]


def settings_of(plan: BurstPlan, guarantee: Guarantee) -> BurstSettings:
    """The conditions of bursts that begin now."""
    traced = PeerConfig(Path()).node.pubsub.at_most_once_trace_every
    return BurstSettings(
        **msgspec.structs.asdict(bench_settings_of(plan, guarantee, plan.events)),
        at_most_once_traced=f"1 of {traced}" if plan.traces else "none",
        owner=plan.owner,
        events=plan.events,
        rounds=plan.rounds,
    )


def bench_settings_of(plan: BenchPlan, guarantee: Guarantee, events: int) -> BenchSettings:
    """What holds for every run that begins now; the size of an event is that of the last of so many."""
    (first,) = EventLoad(1, ("quotes/1",), plan.body_bytes, guarantee).events(NodeId(Place(bytes(ID_BYTES))), 1 << 40)
    last = msgspec.structs.replace(first, id=first.id._replace(sequence=events))
    return BenchSettings(
        guarantee=guarantee,
        traces=plan.traces,
        event_bytes=event_bytes(last),
        at_once=plan.at_once,
        is_profiled=plan.profile is not None,
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        load_average=round(os.getloadavg()[0], 2),
        python=platform.python_version(),
        compiled=is_compiled(),
    )


def medians(rounds: Sequence[R]) -> dict[str, float]:
    """The median of every figure, by its name."""
    names = rounds[0].__struct_fields__
    return {name: middle([getattr(each, name) for each in rounds]) for name in names}
