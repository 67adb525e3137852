"""How fast the match index is, beside a linear scan and SIENA's poset in the same run, on one core.

`once` is the paper's workload (sims/workloads/once.py), `uniform` has intervals on 4 of 20 numeric attributes. Rates
are events per CPU second, the best of several rounds; each engine has warmed up.
"""

from __future__ import annotations

import enum
import gc
import itertools
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from time import process_time
from typing import Final

from p2psub.matching.engine import Engine
from p2psub.matching.forest import Forest
from p2psub.matching.linear import LinearMatcher
from p2psub.model.content import Event, Filter
from p2psub.model.ids import SubscriptionId
from sims.baselines.siena import SienaPoset
from sims.experiments.memory import bytes_of
from sims.workloads.matching import NODE, MatchingWorkload, subscription_of
from sims.workloads.once import OnceWorkload
from sims.workloads.uniform import UniformWorkload

EVENTS: Final = 4_000
ROUNDS: Final = 5
FOREST_MAX: Final = 5_000
"""The forest is measured with so many: where nothing covers anything, its cost grows with their square."""
SIENA_MAX: Final = 10_000
"""Beyond it, building the poset takes minutes."""
CHURN_MAX: Final = 100_000
TRACED_MAX: Final = 200_000
GROWTH_FROM: Final = 10_000
GROWTH_MATCHES: Final = 10
"""Matches of an event at every size, so that what grows is the cost of finding them."""


class Workload(enum.StrEnum):
    """What is matched."""

    ONCE = "once"
    UNIFORM = "uniform"


def measure(workload: Workload, subscriptions: int, share: float = 0.001, seed: int = 1) -> dict[str, object]:
    """All figures for one size."""
    source = _source(workload, seed, share)
    ids, wanted = _ids(subscriptions), list(itertools.islice(_filters(source), subscriptions))
    events = list(source.events(EVENTS))
    figures: dict[str, object] = {"workload": workload.value, "subscriptions": subscriptions}
    if subscriptions <= TRACED_MAX:
        figures["bytes_per_subscription"] = round(bytes_of(lambda: _filled(ids, wanted)) / subscriptions, 1)
    figures["insert_us"], figures["remove_us"] = _churned(ids, wanted)
    engine = _filled(ids, wanted)
    gc.collect()
    gc.freeze()
    found = engine.match_batch(events)
    figures["matches_per_event"] = sum(map(len, found)) / len(events)
    figures["events_per_cpu_s"] = _rate(lambda: engine.match_batch(events), len(events))
    few = events[: len(events) // 4]
    figures["one_by_one_events_per_cpu_s"] = _rate(lambda: [engine.match(event) for event in few], len(few))
    figures["process_bytes_per_subscription"] = round(_resident_bytes() / subscriptions, 1)
    figures["linear"] = _linear(engine, ids, wanted, events)
    figures["times_linear"] = figures["events_per_cpu_s"] / figures["linear"]["events_per_cpu_s"]  # type: ignore[index]
    if workload is Workload.ONCE and subscriptions <= SIENA_MAX:
        figures["siena"] = _siena(ids, wanted, events)
        figures["share_of_siena_time"] = figures["siena"]["events_per_cpu_s"] / figures["events_per_cpu_s"]  # type: ignore[index]
    gc.unfreeze()
    figures["forest_insert_us"] = _forest(ids, wanted)
    return figures


def growth(workload: Workload, subscriptions: int, seed: int = 1) -> list[dict[str, float]]:
    """The cost of an event at ten times the subscriptions, and ten times again, with as many matches each time.

    Filters are not kept, as little as a peer would need to keep them for matching.
    """
    lines: list[dict[str, float]] = []
    size = min(GROWTH_FROM, subscriptions)
    while size <= subscriptions:
        source = _source(workload, seed, GROWTH_MATCHES / size)
        engine = Engine()
        before = process_time()
        for number, wanted in enumerate(itertools.islice(_filters(source), size)):
            engine.add(SubscriptionId(NODE, 1, number), wanted)
        built_us = _us(before, size)
        events = list(source.events(EVENTS // 4))
        gc.collect()
        gc.freeze()
        matches = sum(map(len, engine.match_batch(events))) / len(events)
        rate = _rate(lambda engine=engine, events=events: engine.match_batch(events), len(events))  # type: ignore[misc]
        gc.unfreeze()
        line = {"subscriptions": size, "matches_per_event": matches, "event_us": 1e6 / rate, "made_us": built_us}
        line["resident_bytes"] = _resident_bytes()
        if lines:
            line["times_the_cost"] = line["event_us"] / lines[-1]["event_us"]
        lines.append(line)
        size *= 10
    return lines


def _source(workload: Workload, seed: int, share: float) -> MatchingWorkload:
    return OnceWorkload(seed) if workload is Workload.ONCE else UniformWorkload(seed, share)


def _filters(source: MatchingWorkload) -> Iterator[Filter]:
    return source.endless_filters() if isinstance(source, OnceWorkload) else source.filters()


def _ids(count: int) -> list[SubscriptionId]:
    return [SubscriptionId(NODE, 1, number) for number in range(count)]


def _filled(ids: list[SubscriptionId], wanted: list[Filter]) -> Engine:
    engine = Engine()
    for id_, filter_ in zip(ids, wanted, strict=True):
        engine.add(id_, filter_)
    return engine


def _rate(run: Callable[[], object], events: int) -> float:
    best = 0.0
    for _ in range(ROUNDS):
        before = process_time()
        run()
        best = max(best, events / max(process_time() - before, 1e-9))
    return best


def _linear(engine: Engine, ids: list[SubscriptionId], wanted: list[Filter], events: list[Event]) -> dict[str, float]:
    """The linear scan over a few events; it must find the same."""
    matcher = LinearMatcher()
    for id_, filter_ in zip(ids, wanted, strict=True):
        matcher.add(subscription_of(id_.sequence, filter_))
    few = events[: max(2, min(len(events), 300_000 // len(ids)))]
    assert engine.match_batch(few) == matcher.match_batch(few), "the index and the linear scan differ"
    return {"events_per_cpu_s": _rate(lambda: matcher.match_batch(few), len(few))}


def _siena(ids: list[SubscriptionId], wanted: list[Filter], events: list[Event]) -> dict[str, float]:
    poset = SienaPoset()
    for id_, filter_ in zip(ids, wanted, strict=True):
        poset.add(subscription_of(id_.sequence, filter_))
    few = events[:1_000]
    return {"events_per_cpu_s": _rate(lambda: [poset.match(event) for event in few], len(few))}


def _churned(ids: list[SubscriptionId], wanted: list[Filter]) -> tuple[float, float]:
    """What it takes to insert one, and to remove one in any order: the best of some rounds, of all that there are."""
    gone = Random(1).sample(ids, min(len(ids), CHURN_MAX))
    inserts: list[float] = []
    removes: list[float] = []
    for _ in range(max(1, min(ROUNDS, CHURN_MAX // len(ids)))):
        gc.collect()
        before = process_time()
        engine = _filled(ids, wanted)
        inserts.append(_us(before, len(ids)))
        before = process_time()
        for id_ in gone:
            engine.remove(id_)
        removes.append(_us(before, len(gone)))
    return min(inserts), min(removes)


def _forest(ids: list[SubscriptionId], wanted: list[Filter]) -> float:
    forest = Forest()
    for id_, filter_ in zip(ids[:FOREST_MAX], wanted, strict=False):
        forest.add(id_, filter_)
    before = process_time()
    forest.settle()
    return _us(before, min(len(ids), FOREST_MAX))


def _us(before: float, count: int) -> float:
    return round((process_time() - before) / count * 1e6, 2)


def _resident_bytes() -> int:
    """Of the whole process, filters, events and Python itself included."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()
