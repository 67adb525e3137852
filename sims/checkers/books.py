"""S19, books: what nodes say that pairs earned and cost is the sum of their pairs, by the bids of the subscriptions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from p2psub.model.bids import PRICE_ONE
from p2psub.model.books import BookSums
from p2psub.model.content import Guarantee
from p2psub.model.ids import EventId, NodeId, SubscriptionId
from p2psub.model.outcomes import Outcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record
from sims.checkers.evidence import Evidence, Finding
from sims.checkers.lateness import BidPairs

_MISSES: Final = frozenset({Outcome.EXPIRED, Outcome.HOPELESS, Outcome.UNREACHABLE, Outcome.SPOOL_FULL})
"""How pairs end that were owed and not handed over."""
_PROMISED, _ONCE = Guarantee.EFFECTIVELY_ONCE, Guarantee.AT_MOST_ONCE

_Ledger = tuple[NodeId, int, Guarantee, SubscriptionId | None]
"""Which books: of a process and a guarantee; of one subscription, or of all."""


@dataclass(slots=True)
class _Total:
    """What some books must say."""

    on_time: int = 0
    expired: int = 0
    earned: int = 0
    penalties: int = 0

    def add(self, amount: int, pairs: int, *, is_on_time: bool) -> None:
        if is_on_time:
            self.on_time += pairs
            self.earned += amount * pairs
        else:
            self.expired += pairs
            self.penalties -= amount * pairs

    def differs_from(self, said: BookSums) -> str:
        """What is wrong, in words; nothing if nothing is."""
        expired = sum(said.expired.values())
        pairs = (self.on_time, self.expired, self.earned, self.penalties)
        books = (said.on_time, expired, said.earned, said.penalties)
        if pairs == books:
            return ""
        return "books say on time, expired, earned, penalties {}, {}, {}, {}, their pairs {}, {}, {}, {}".format(
            *books, *pairs
        )


@dataclass(slots=True)
class _Ledgers:
    """The pairs of all processes, as far as the trace was read."""

    pairs: BidPairs
    stored_by_several: set[EventId | None]
    totals: dict[_Ledger, _Total] = field(default_factory=dict)
    settled: set[tuple[NodeId, int, EventId | None, SubscriptionId | None]] = field(default_factory=set)

    def take(self, record: Record) -> int | None:
        """Book what a record says; returns what each of its pairs must have earned, if it ends any."""
        if record.kind is Kind.DELIVER:
            amount = self.pairs.bid_of(record).price
            if record.guarantee is _ONCE:
                self._book(record, _ONCE, amount, is_on_time=True)
            return amount
        if record.kind is Kind.DROP:
            if record.earned is None:
                return None
            amount = -self.pairs.bid_of(record).penalty
            self._book(record, _ONCE, amount, is_on_time=False)
            return amount
        is_on_time = record.outcome is Outcome.DELIVERED
        if not is_on_time and record.outcome not in _MISSES:
            return None
        amount = self.pairs.bid_of(record).price if is_on_time else -self._penalty(record)
        name = (record.node, record.incarnation, record.event, record.subscription)
        # Two owners that are cut apart store an event under two names; one that comes to hold both settles both.
        if name not in self.settled or record.event in self.stored_by_several:
            self._book(record, _PROMISED, amount, is_on_time=is_on_time)
        self.settled.add(name)
        return amount

    def _penalty(self, record: Record) -> int:
        """What a full channel made late costs nothing; what is replayed bids no penalty."""
        is_free = record.reason is Reason.CHANNEL_FULL or (self.pairs.may_be_replayed(record) and not record.earned)
        return 0 if is_free else self.pairs.bid_of(record).penalty

    def _book(self, record: Record, guarantee: Guarantee, amount: int, *, is_on_time: bool) -> None:
        for of in (None, record.subscription):
            ledger = (record.node, record.incarnation, guarantee, of)
            self.totals.setdefault(ledger, _Total()).add(amount, record.happenings, is_on_time=is_on_time)

    def total(self, ledger: _Ledger) -> _Total:
        return self.totals.get(ledger, _Total())


def check_books(evidence: Evidence) -> Iterator[Finding]:
    """S19: the books of every process, as its trace has them and as it says at the end, are the sum of its pairs.

    A pair counts once in a process, unless several owners stored its event. Each with what its subscription bids.
    """
    stores: dict[EventId | None, int] = {}
    for _, record in evidence.of(Kind.STORE):
        stores[record.event] = stores.get(record.event, 0) + 1
    ledgers = _Ledgers(BidPairs(evidence), {event for event, count in stores.items() if count > 1})
    for at_us, record in evidence.of(Kind.OUTCOME, Kind.DELIVER, Kind.DROP, Kind.BOOKS):
        if record.kind is not Kind.BOOKS:
            due = ledgers.take(record)
            if due is not None and _earned(record) != due:
                yield Finding("S19", f"a pair earned {_earned(record)}, though by its bid it is {due}", record, at_us)
        elif record.books is not None and record.guarantee is not None:
            total = ledgers.total((record.node, record.incarnation, record.guarantee, None))
            wrong = total.differs_from(record.books)
            if wrong:
                yield Finding("S19", wrong, record, at_us)
    for status in evidence.at_end:
        said: list[tuple[Guarantee, SubscriptionId | None, BookSums]] = [
            (_PROMISED, None, status.promised_books),
            (_ONCE, None, status.at_most_once_books),
            *((one.guarantee, one.subscription, one.sums) for one in status.subscription_books),
        ]
        for guarantee, subscription, sums in said:
            wrong = ledgers.total((status.id, status.incarnation, guarantee, subscription)).differs_from(sums)
            if wrong:
                yield Finding("S19", f"{status.id.hex()[:8]} says at the end: {wrong}")


def _earned(record: Record) -> int:
    """What a pair earned by its record: without a word, as with a bid that says nothing."""
    if record.earned is not None:
        return record.earned
    return PRICE_ONE if record.kind is Kind.DELIVER or record.outcome is Outcome.DELIVERED else 0


@dataclass(frozen=True, slots=True)
class Earnings:
    """What the promised pairs of a run earned, each counted once however many owners settled it; in millionths."""

    on_time: int
    hopeless: int
    earned: int
    penalties: int


def earnings_of(evidence: Evidence) -> Earnings:
    """By pairs: handed over counts before all else, and no penalty is due that one of the owners does not know of."""
    on_time: dict[tuple[EventId | None, SubscriptionId | None], int] = {}
    missed: dict[tuple[EventId | None, SubscriptionId | None], tuple[int, Outcome]] = {}
    for _, record in evidence.of(Kind.OUTCOME, Kind.DELIVER):
        pair, outcome = (record.event, record.subscription), record.outcome
        if record.guarantee is _ONCE:
            continue
        if record.kind is Kind.DELIVER or outcome is Outcome.DELIVERED:
            on_time[pair] = _earned(record)
        elif outcome in _MISSES:
            missed[pair] = max(missed.get(pair, (_earned(record), outcome)), (_earned(record), outcome))
    lost = [one for pair, one in missed.items() if pair not in on_time]
    return Earnings(
        on_time=len(on_time),
        hopeless=sum(outcome is Outcome.HOPELESS for _, outcome in lost),
        earned=sum(on_time.values()),
        penalties=-sum(amount for amount, _ in lost),
    )
