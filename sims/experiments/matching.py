"""The experiments of Once 4: matching against SIENA's poset and a linear scan, alone and amid changes.

Experiment 1 holds a set of subscriptions and matches events. In experiment 2 rounds of k subscriptions, k
unsubscriptions and 100 k events (k of 10 to 50) go on until there were as many operations as asked for. All engines are
given the same, and must find the same. Seconds are CPU seconds; bytes are what holding the subscriptions takes, with
the filters themselves there before.
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from time import process_time
from typing import Any, Final, Protocol

from p2psub.matching.adaptive_matcher import GrowingMatcher
from p2psub.matching.forest import Forest
from p2psub.matching.linear import LinearMatcher
from p2psub.model.content import Event, Subscription
from p2psub.model.ids import SubscriptionId
from sims.baselines.siena import SienaPoset
from sims.experiments.memory import bytes_of
from sims.workloads.matching import subscription_of
from sims.workloads.once import OnceWorkload
from sims.workloads.recorded import Recorded

ROUND_SIZES: Final = (10, 20, 30, 40, 50)
EVENTS_PER_CHANGE: Final = 100
PAPER: Final = {
    False: {"seconds": 1 - 0.871, "bytes": 1 - 0.21},
    True: {"seconds": 0.301, "bytes": 0.60},
}
"""What part of SIENA's the paper's matcher takes at 10,000 subscriptions, alone and interleaved."""


@dataclass(frozen=True, slots=True)
class MatchingReading:
    """How to read what the paper leaves open; see `sims/workloads/once.py`."""

    categories: int | None = None
    is_connected: bool = False

    def workload(self, seed: int) -> OnceWorkload:
        """The workload, read so."""
        return OnceWorkload(seed, self.categories, is_connected=self.is_connected)


DEFAULT_READING: Final = MatchingReading()


class Contender(Protocol):
    """What the experiment asks of an engine."""

    def add(self, subscription: Subscription) -> None: ...
    def remove(self, subscription: SubscriptionId) -> None: ...
    def match(self, event: Event) -> list[SubscriptionId]: ...


ENGINES: Final[dict[str, Callable[[], Contender]]] = {
    "p2psub": GrowingMatcher,
    "siena": SienaPoset,
    "linear": LinearMatcher,
}


@dataclass(frozen=True, slots=True)
class MatchingPlan:
    """Subscriptions that are there at first, and what happens then: changes and bursts of events."""

    subscriptions: list[Subscription]
    steps: list[Subscription | SubscriptionId | list[Event]]
    names: Sequence[str]
    """What subscriptions are called in a digest, by their sequence."""

    @property
    def operations(self) -> int:
        return sum(len(step) if isinstance(step, list) else 1 for step in self.steps)

    @property
    def events(self) -> int:
        return sum(len(step) for step in self.steps if isinstance(step, list))


def pure_plan(seed: int, subscriptions: int, events: int, reading: MatchingReading = DEFAULT_READING) -> MatchingPlan:
    """Experiment 1."""
    workload = reading.workload(seed)
    filters = itertools.islice(workload.filters(), subscriptions)
    held = [subscription_of(number, wanted) for number, wanted in enumerate(filters)]
    return MatchingPlan(held, [list(workload.events(events))], [str(number) for number in range(len(held))])


def interleaved_plan(
    seed: int, subscriptions: int, operations: int, reading: MatchingReading = DEFAULT_READING
) -> MatchingPlan:
    """Experiment 2."""
    workload, random = reading.workload(seed), Random(seed)
    numbers = itertools.count()
    # Made anew when the sample space is used up; ids are always new.
    filters = itertools.chain.from_iterable(workload.filters() for _ in itertools.count())
    drawn = (subscription_of(number, wanted) for number, wanted in zip(numbers, filters, strict=False))
    first = list(itertools.islice(drawn, subscriptions))
    held = [subscription.id for subscription in first]
    steps: list[Subscription | SubscriptionId | list[Event]] = []
    left = operations
    while left > 0:
        count = random.choice(ROUND_SIZES)
        for subscription in itertools.islice(drawn, min(count, left)):
            steps.append(subscription)
            held.append(subscription.id)
        left -= count
        steps += [held.pop(random.randrange(len(held))) for _ in range(min(count, max(left, 0)))]
        left -= count
        burst = list(workload.events(min(count * EVENTS_PER_CHANGE, max(left, 0))))
        if burst:
            steps.append(burst)
        left -= len(burst)
    return MatchingPlan(first, steps, [str(number) for number in range(next(numbers))])


def recorded_plan(recorded: Recorded) -> MatchingPlan:
    """Subscriptions and events of a file."""
    return MatchingPlan(recorded.subscriptions, [recorded.events], recorded.names)


def run_engine(name: str, plan: MatchingPlan, rounds: int = 1) -> dict[str, object]:
    """One engine's figures for a plan; of several rounds the best, if nothing changes in between."""
    gc.collect()
    began = process_time()
    engine = _built(ENGINES[name], plan)
    insert_seconds = process_time() - began
    gc.collect()
    # As in a peer: what stays is not looked at by the collector again and again.
    gc.freeze()
    seconds = math.inf
    for _ in range(rounds if plan.operations == plan.events else 1):
        began = process_time()
        found = _run(engine, plan)
        seconds = min(seconds, process_time() - began)
    figures: dict[str, object] = {
        "seconds": seconds,
        "events_per_s": plan.events / max(seconds, 1e-9),
        "insert_seconds": insert_seconds,
        "matches": sum(map(len, found)),
        "digest": _digest(found, plan.names),
    }
    if isinstance(engine, GrowingMatcher):
        figures["one_by_one"] = _one_by_one(engine, plan)
    gc.unfreeze()
    figures["bytes"] = bytes_of(lambda: _changed(_built(ENGINES[name], plan), plan))
    return figures


def share_of_siena(
    engines: Mapping[str, Mapping[str, Any]], forest: Mapping[str, float] | None = None
) -> dict[str, float]:
    """What part of SIENA's time and memory ours takes; with the forest beside it, if that is wanted."""
    ours = {name: engines["p2psub"][name] + (forest[name] if forest else 0) for name in ("seconds", "bytes")}
    return {name: ours[name] / max(engines["siena"][name], 1e-9) for name in ours}


def run_forest(plan: MatchingPlan) -> dict[str, float]:
    """What the covering forest costs beside the index; it is not needed for matching.

    `seconds` is for what changes while events are matched, placed before each burst of them.
    """
    began = process_time()
    forest = _settled_forest(plan)
    insert_seconds, began = process_time() - began, process_time()
    _change(forest, plan)
    return {
        "insert_seconds": insert_seconds,
        "seconds": process_time() - began,
        "bytes": bytes_of(lambda: _change(_settled_forest(plan), plan)),
        "trees": len(forest.roots),
    }


def _settled_forest(plan: MatchingPlan) -> Forest:
    forest = Forest()
    for subscription in plan.subscriptions:
        forest.add(subscription.id, subscription.filter)
    forest.settle()
    return forest


def _change(forest: Forest, plan: MatchingPlan) -> Forest:
    for step in plan.steps:
        if isinstance(step, Subscription):
            forest.add(step.id, step.filter)
        elif isinstance(step, list):
            forest.settle()
        else:
            forest.remove(step)
    return forest


def _built(make: Callable[[], Contender], plan: MatchingPlan) -> Contender:
    engine = make()
    for subscription in plan.subscriptions:
        engine.add(subscription)
    return engine


def _changed(engine: Contender, plan: MatchingPlan) -> Contender:
    for step in plan.steps:
        if isinstance(step, Subscription):
            engine.add(step)
        elif not isinstance(step, list):
            engine.remove(step)
    return engine


def _run(engine: Contender, plan: MatchingPlan) -> list[list[SubscriptionId]]:
    found: list[list[SubscriptionId]] = []
    for step in plan.steps:
        if isinstance(step, list):
            # Our owners hand over all events that wait; the others know events one by one only.
            found += engine.match_batch(step) if isinstance(engine, GrowingMatcher) else map(engine.match, step)
        elif isinstance(step, Subscription):
            engine.add(step)
        else:
            engine.remove(step)
    return found


def _one_by_one(engine: GrowingMatcher, plan: MatchingPlan) -> dict[str, float]:
    """The rate without batches."""
    events = list(itertools.chain.from_iterable(step for step in plan.steps if isinstance(step, list)))[:2_000]
    began = process_time()
    for event in events:
        engine.match(event)
    return {"events_per_s": len(events) / max(process_time() - began, 1e-9)}


def _digest(found: list[list[SubscriptionId]], names: Sequence[str]) -> str:
    hasher = hashlib.sha256()
    for subscriptions in found:
        hasher.update(" ".join(sorted(names[subscription.sequence] for subscription in subscriptions)).encode())
        hasher.update(b"\n")
    return hasher.hexdigest()[:32]
