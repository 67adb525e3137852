"""Each pair has one end, and what must not be is counted: late, twice, unwanted, lost, expired too early."""

from __future__ import annotations

from p2psub.api.values import id_to_text
from p2psub.bench.bid_load import BidLoad
from p2psub.bench.bid_verdicts import UNTOLD_US, Misses, Pair, judged
from p2psub.bench.orders import HandOver, Offered
from p2psub.model.ids import EventId, SubscriptionId
from p2psub.model.instants import Stamp
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind, Record
from tests.unit.bench import at

LOAD = BidLoad(1, 20.0, 2.0, 8, 100)
PAIRS = sorted(LOAD.matched)
OFFERED = Offered(tuple(10**9 * number for number in range(40)), tuple(range(1, 41)))
PUBLISHER, SUBSCRIBER = at(1).id, at(2).id
NAMES = {id_to_text(SubscriptionId(SUBSCRIBER, 1, number)): number for number in range(8)}


def handed(pair: Pair, age_us: int = 1_000) -> HandOver:
    """A pair of which the application consumed the event at this age."""
    return HandOver(*pair, OFFERED.published_ns[pair[1]] + age_us * 1000)


def deadline_us(pair: Pair) -> int:
    """Up to which age it is in time."""
    return LOAD.wanted[pair[0]].bid.deadline_us


def published(number: int, at_us: int) -> Record:
    """An event of the load goes out."""
    return Record(Kind.PUBLISH, PUBLISHER, 1, 1, Stamp(at_us, 0), event=EventId(PUBLISHER, 1, number + 1))


def ended(pair: Pair, at_us: int, outcome: Outcome = Outcome.EXPIRED, run: int | None = None) -> Record:
    """What an owner noted of a pair, and of those of the events after it."""
    subscription, event = SubscriptionId(SUBSCRIBER, 1, pair[0]), EventId(PUBLISHER, 1, pair[1] + 1)
    return Record(
        Kind.OUTCOME,
        PUBLISHER,
        1,
        1,
        Stamp(at_us, 0),
        event=event,
        subscription=subscription,
        outcome=outcome,
        run=run,
    )


def misses(*records: Record) -> Misses:
    """As they are read."""
    return Misses.read(records, LOAD, PUBLISHER.hex(), NAMES, OFFERED)


def test_every_pair_is_handed_over_or_ended() -> None:
    """What it earned is by the bids of the load."""
    in_time, missed = PAIRS[2:], PAIRS[:2]
    verdicts = judged(LOAD, OFFERED, [handed(pair) for pair in in_time], Misses(set(missed)))
    assert (verdicts.matched, verdicts.on_time, verdicts.expired) == (len(PAIRS), len(in_time), 2)
    assert verdicts.earned == sum(LOAD.wanted[pair[0]].bid.price for pair in in_time)
    assert verdicts.penalties == sum(LOAD.wanted[pair[0]].bid.penalty for pair in missed)
    assert verdicts.violations == 0


def test_what_must_not_be_is_counted() -> None:
    """One of each kind, and nothing counts as two."""
    late, twice, lost, *others = PAIRS
    foreign = next(pair for pair in ((0, 0), (0, 1), (0, 2), (0, 3)) if pair not in LOAD.matched)
    hand_overs = [handed(pair) for pair in [twice, twice, *others, foreign]]
    hand_overs.append(handed(late, deadline_us(late) + UNTOLD_US + 1_000))
    verdicts = judged(LOAD, OFFERED, hand_overs, Misses(set(), untrue=1))
    assert (verdicts.late, verdicts.doubled, verdicts.foreign, verdicts.lost, verdicts.untrue) == (1, 1, 1, 1, 1)
    assert verdicts.violations == 5
    assert (verdicts.on_time, verdicts.expired) == (len(PAIRS) - 2, 0)
    assert lost not in {(one.subscription, one.event) for one in hand_overs}


def test_handed_over_counts_before_all_else() -> None:
    """The owner may not have heard of it; and what was refused is owed to nobody."""
    verdicts = judged(LOAD, OFFERED, [handed(pair) for pair in PAIRS], Misses(set(PAIRS)))
    assert (verdicts.on_time, verdicts.expired, verdicts.violations) == (len(PAIRS), 0, 0)
    nothing = judged(LOAD, Offered(OFFERED.published_ns, (0,) * 40), [], Misses())
    assert (nothing.matched, nothing.violations) == (0, 0)


def test_a_miss_is_true_if_its_time_was_over() -> None:
    """By the clock of the owner, which published it; what had no chance may end sooner."""
    first, second = PAIRS[0], PAIRS[-1]
    records = [published(number, 1_000) for number in range(40)]
    due_us = 1_000 + deadline_us(first)
    assert misses(*records, ended(first, due_us)) == Misses({first}, 0)
    assert misses(*records, ended(first, due_us - 1)) == Misses({first}, 1)
    assert misses(*records, ended(second, 2_000, Outcome.HOPELESS)) == Misses({second}, 0)
    assert misses(*records, ended(second, 2_000, Outcome.DELIVERED)) == Misses()


def test_a_run_of_misses_is_many() -> None:
    """One record speaks of events in a row."""
    records = [published(number, 0) for number in range(40)]
    late_us = 10 * deadline_us((3, 0))
    assert misses(*records, ended((3, 4), late_us, run=3)).ended == {(3, 4), (3, 5), (3, 6)}
