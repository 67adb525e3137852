"""What came of a run: who should have got what, who got it, how often and how soon.

Expected is, for each acknowledged event, every subscription whose filter takes it by the plainest matcher; all
subscriptions were stable before the first event. Times are of one clock, that of the process that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Final, NamedTuple

from p2psub.demo.market import NUMBER
from p2psub.matching.linear import matches
from p2psub.model.content import Draft, Event, Filter, Value
from p2psub.model.ids import ID_BYTES, EventId, NodeId, Place

_ANY_ID: Final = EventId(NodeId(Place(bytes(ID_BYTES))), 0, 0)
"""Matching does not look at it."""


class DeliveryFigures(NamedTuple):
    """Counts of events, and of pairs of event and subscription."""

    published: int
    acknowledged: int
    matched: int
    """Pairs, as the outcomes of the publishes told."""
    expected: int
    """Pairs, as the filters say."""
    delivered: int
    """Expected pairs that arrived."""
    lost: int
    duplicates: int
    """Arrivals beyond the first of a pair."""
    unwanted: int
    """Pairs that arrived though the filter does not take the event, or that were changed on the way."""
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    """From the call of publish to the arrival of an expected pair; None if there was none."""

    @property
    def coverage(self) -> float:
        """The part of what was expected that arrived."""
        return self.delivered / self.expected if self.expected else 1.0


@dataclass(slots=True)
class _Fate:
    """One published event."""

    draft: Draft
    takers: frozenset[int]
    published_s: float
    matched: int | None = None
    """None until it is acknowledged."""
    arrived_s: dict[int, list[float]] = field(default_factory=dict)


class DeliveryTally:
    """Counts while the run goes on. Events are known by their attribute `number`, subscriptions have numbers too."""

    def __init__(self, wanted: Mapping[int, Filter]) -> None:
        self._wanted = wanted
        self._fates: dict[Value | None, _Fate] = {}
        self._damaged = 0
        self.acknowledged = 0
        self.missing = 0
        """Expected pairs that have not arrived."""

    def published(self, draft: Draft, at_s: float) -> None:
        """An event is about to be published."""
        event = Event(_ANY_ID, draft.topic, draft.attributes)
        takers = frozenset(number for number, wanted in self._wanted.items() if matches(wanted, event))
        self._fates[draft.attributes[NUMBER]] = _Fate(draft, takers, at_s)

    def acknowledge(self, draft: Draft, matched: int) -> None:
        """The overlay is responsible for an event, and says how many subscriptions want it."""
        fate = self._fates[draft.attributes[NUMBER]]
        fate.matched = matched
        self.acknowledged += 1
        self.missing += len(fate.takers - fate.arrived_s.keys())

    def arrived(self, subscription: int, content: Draft, at_s: float) -> None:
        """A subscription was handed an event with this content."""
        fate = self._fates.get(content.attributes.get(NUMBER))
        if fate is None or fate.draft != content:
            self._damaged += 1
            return
        if fate.matched is not None and subscription in fate.takers and subscription not in fate.arrived_s:
            self.missing -= 1
        fate.arrived_s.setdefault(subscription, []).append(at_s)

    def figures(self) -> DeliveryFigures:
        """Everything so far."""
        fates = self._fates.values()
        acknowledged = [fate for fate in fates if fate.matched is not None]
        expected = sum(len(fate.takers) for fate in acknowledged)
        delivered = sum(len(fate.takers & fate.arrived_s.keys()) for fate in acknowledged)
        latencies_s = [
            at_s[0] - fate.published_s
            for fate in acknowledged
            for subscription, at_s in fate.arrived_s.items()
            if subscription in fate.takers
        ]
        return DeliveryFigures(
            published=len(self._fates),
            acknowledged=len(acknowledged),
            matched=sum(fate.matched or 0 for fate in acknowledged),
            expected=expected,
            delivered=delivered,
            lost=expected - delivered,
            duplicates=sum(len(at_s) - 1 for fate in fates for at_s in fate.arrived_s.values()),
            unwanted=self._damaged + sum(len(fate.arrived_s.keys() - fate.takers) for fate in fates),
            latency_p50_ms=_percentile_ms(latencies_s, 50),
            latency_p99_ms=_percentile_ms(latencies_s, 99),
        )


def _percentile_ms(spans_s: Iterable[float], percent: int) -> float | None:
    """The smallest span that is not exceeded by so many percent of them."""
    ordered = sorted(spans_s)
    if not ordered:
        return None
    return round(ordered[ceil(len(ordered) * percent / 100) - 1] * 1e3, 1)
