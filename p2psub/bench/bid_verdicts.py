"""What became of every pair of event and subscription, by what applications consumed and what the owner recorded.

Whom an event matches is known from the load alone, and how old it was from the clock that all processes of a machine
share. So nothing is believed of the product but that it handed over what the application says it has consumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from p2psub.api.values import id_to_text
from p2psub.bench.bid_load import BidLoad
from p2psub.bench.orders import HandOver, Offered
from p2psub.model.ids import EventId
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind, Record

MISSES: Final = frozenset({Outcome.EXPIRED, Outcome.HOPELESS, Outcome.UNREACHABLE, Outcome.SPOOL_FULL})
"""How pairs end that were owed and not handed over."""
UNTOLD_US: Final = 300_000
"""So much older than its age says an event may be, as for S18 in the simulator: no age counts the quickest of a link,
nor how long a process with work to do must wait for a processor."""

Pair = tuple[int, int]
"""A subscription and an event, by their numbers in the load."""


@dataclass(slots=True)
class Misses:
    """How pairs ended that the owner does not know as handed over."""

    ended: set[Pair] = field(default_factory=set)
    untrue: int = 0
    """Expired, though there was time."""

    @classmethod
    def read(
        cls, records: Iterable[Record], load: BidLoad, publisher: str, names: Mapping[str, int], offered: Offered
    ) -> Misses:
        """Out of the trace of a peer that published all events, and owns them: its clock alone counts."""
        numbers = {sequence: number for number, sequence in enumerate(offered.sequences) if sequence}
        published_us: dict[EventId, int] = {}
        found = cls()
        for record in records:
            event = record.event
            if event is None or event.node.hex() != publisher:
                continue
            if record.kind is Kind.PUBLISH:
                published_us[event] = record.stamp.wall_us
            elif record.kind is Kind.OUTCOME and record.outcome in MISSES and record.subscription is not None:
                subscription = names[id_to_text(record.subscription)]
                for place in range(record.run or 1):
                    one = event._replace(sequence=event.sequence + place)
                    found.ended.add((subscription, numbers[one.sequence]))
                    age_us = record.stamp.wall_us - published_us[one]
                    if record.outcome is Outcome.EXPIRED and age_us < load.wanted[subscription].bid.deadline_us:
                        found.untrue += 1
        return found


@dataclass(frozen=True, slots=True)
class BidVerdicts:
    """Counts of pairs; amounts are in millionths."""

    matched: int
    on_time: int
    expired: int
    """By deadline, or because an estimate gave it no chance."""
    late: int
    earned: int
    penalties: int
    doubled: int
    """Hand-overs of what had been handed over before."""
    foreign: int
    """Handed over to a subscription that does not want it."""
    lost: int
    """Neither handed over nor ended."""
    untrue: int

    @property
    def violations(self) -> int:
        """What must not be."""
        return self.late + self.doubled + self.foreign + self.lost + self.untrue


def judged(load: BidLoad, offered: Offered, hand_overs: Sequence[HandOver], misses: Misses) -> BidVerdicts:
    """Pair by pair; of several hand-overs the first counts."""
    taken = {number for number, sequence in enumerate(offered.sequences) if sequence}
    matched = {pair for pair in load.matched if pair[1] in taken}
    first: dict[Pair, int] = {}
    for subscription, event, at_ns in sorted(hand_overs, key=lambda one: one.at_ns):
        first.setdefault((subscription, event), at_ns // 1000 - offered.published_ns[event] // 1000)
    bids = [wanted.bid for wanted in load.wanted]
    handed = {
        pair: age_us <= bids[pair[0]].deadline_us + UNTOLD_US for pair, age_us in first.items() if pair in matched
    }
    on_time = [pair for pair, is_on_time in handed.items() if is_on_time]
    expired = (matched & misses.ended) - handed.keys()
    return BidVerdicts(
        matched=len(matched),
        on_time=len(on_time),
        expired=len(expired),
        late=len(handed) - len(on_time),
        earned=sum(bids[subscription].price for subscription, _ in on_time),
        penalties=sum(bids[subscription].penalty for subscription, _ in expired),
        doubled=len(hand_overs) - len(first),
        foreign=len(first) - len(handed),
        lost=len(matched) - len(handed) - len(expired),
        untrue=misses.untrue,
    )
