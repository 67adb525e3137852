"""S18, time: what ended as expired was late, and nothing late is handed over.

By the true times of the run, which no node knows. Nodes go by ages, which steady clocks of their own advance. To these
each hop adds the time on the link, as well as it can tell that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from p2psub.model.bids import NO_BID, Bid
from p2psub.model.content import Event, Subscription
from p2psub.model.ids import EventId, SubscriptionId
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind, Record
from sims.checkers.evidence import Evidence, Finding
from sims.checkers.obligations import Obligations
from sims.engine.world import DRIFT_PPM_MAX

_UNTOLD_US: Final = 300_000
"""What no age counts: on each of its links an event may be as much older as the quickest message there was held up."""

_APART_US: Final = 4_000_000
"""For so long the clocks at both ends of a link may run apart before the age of what comes over it shows it."""
_LINKS_IN_CLUSTERS: Final = 3
"""From publisher to owner to super-node, and from there to the subscriber."""

_OF_MESSAGES: Final = {"loss", "duplicate", "reorder"}
"""Faults that no process notices."""


def _drifted_us(evidence: Evidence, at_us: int, age_us: int) -> int:
    """How wrong an age may be by now where clocks drift."""
    if "drift" not in evidence.fault_kinds:
        return 0
    if evidence.faults.crashes:
        # A restart takes what its wall clock is off for time down.
        return 2 * at_us * DRIFT_PPM_MAX // 1_000_000
    clusters = len({site.cluster for site in evidence.sites})
    links = _LINKS_IN_CLUSTERS + (clusters - 1).bit_length()
    return (age_us + 2 * links * _APART_US) * DRIFT_PPM_MAX // 1_000_000


class BidPairs:
    """When events were published, and how old they may be for whom."""

    def __init__(self, evidence: Evidence) -> None:
        self._published: dict[EventId, tuple[int, Event]] = {}
        for at_us, record in evidence.of(Kind.PUBLISH):
            if record.published is not None:
                self._published[record.published.id] = (at_us, record.published)
        asked = [record.subscribed for _, record in evidence.of(Kind.SUBSCRIBE) if record.subscribed is not None]
        self._asked: dict[SubscriptionId, Subscription] = {subscription.id: subscription for subscription in asked}

    def of(self, record: Record) -> tuple[int, int, int] | None:
        """When the event of a record was published, the age up to which the pair is in time, and if it is replayed."""
        published = None if record.event is None else self._published.get(record.event)
        asked = None if record.subscription is None else self._asked.get(record.subscription)
        if published is None or asked is None:
            return None
        at_us, event = published
        limit_us = _earlier(event.timeout_us, asked.bid.deadline_us)
        # What is replayed has no deadline.
        return at_us, limit_us, event.timeout_us if self.may_be_replayed(record) else limit_us

    def may_be_replayed(self, record: Record) -> bool:
        """Only what is retained is replayed, and only to those who ask for it."""
        published = None if record.event is None else self._published.get(record.event)
        asked = None if record.subscription is None else self._asked.get(record.subscription)
        return published is not None and asked is not None and asked.replay and published[1].retain_us > 0

    def bid_of(self, record: Record) -> Bid:
        """What the subscription of a record bids."""
        asked = None if record.subscription is None else self._asked.get(record.subscription)
        return NO_BID if asked is None else asked.bid


def _earlier(one_us: int, other_us: int) -> int:
    """Of two limits, of which 0 is none."""
    return min([limit for limit in (one_us, other_us) if limit], default=0)


def check_expired_is_true(evidence: Evidence) -> Iterator[Finding]:
    """S18: a pair expires by the subscription's deadline or the event's timeout alone, and not before its time."""
    pairs = BidPairs(evidence)
    for at_us, record in evidence.of(Kind.OUTCOME):
        pair = pairs.of(record) if record.outcome is Outcome.EXPIRED else None
        if pair is None:
            continue
        published_us, limit_us, _ = pair
        age_us = at_us - published_us
        if not limit_us:
            yield Finding("S18", "expired, though neither deadline nor timeout was set", record, at_us)
        elif age_us + _drifted_us(evidence, at_us, age_us) < limit_us:
            text = f"expired at {age_us / 1e6:.3f} s, though it had {limit_us / 1e6:.3f} s"
            yield Finding("S18", text, record, at_us)


def check_nothing_is_late(evidence: Evidence) -> Iterator[Finding]:
    """S18: an event is handed over before deadline and timeout have passed. A process that stood still cannot know."""
    pairs = BidPairs(evidence)
    for at_us, record in evidence.of(Kind.DELIVER):
        pair = pairs.of(record)
        if pair is None:
            continue
        published_us, _, limit_us = pair
        stood_still = any(pause.at_us < at_us and pause.until_us > published_us for pause in evidence.faults.pauses)
        age_us = at_us - published_us
        too_old_us = limit_us + _UNTOLD_US + _drifted_us(evidence, at_us, age_us)
        if limit_us and age_us > too_old_us and not stood_still:
            yield Finding("S18", f"handed over, though it may be {limit_us / 1e6:.3f} s old at most", record, at_us)


def check_hopeless_was_unsent(evidence: Evidence) -> Iterator[Finding]:
    """S18: what ended as hopeless never left. Judged where there is one way, and no owner falls that had sent it."""
    clusters = {site.cluster for site in evidence.sites}
    if len(clusters) > 2 or not evidence.fault_kinds <= _OF_MESSAGES:
        return
    handed_over = {(record.event, record.subscription) for _, record in evidence.of(Kind.DELIVER)}
    for at_us, record in evidence.of(Kind.OUTCOME):
        if record.outcome is Outcome.HOPELESS and (record.event, record.subscription) in handed_over:
            yield Finding("S18", "ended as hopeless, though it was handed over", record, at_us)


def expired_pairs(obligations: Obligations) -> int:
    """How many pairs ended so without having been handed over."""
    ended = obligations.ended.items()
    return sum(outcome is Outcome.EXPIRED and pair not in obligations.delivered for pair, outcome in ended)
