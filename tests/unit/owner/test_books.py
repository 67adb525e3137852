"""An owner's books: every pair that it settles counts once, with its price or its penalty, exactly."""

from __future__ import annotations

import msgspec
import pytest

from p2psub.model.bids import PRICE_ONE, Bid
from p2psub.model.books import EMPTY_BOOKS, BookSums
from p2psub.model.content import Guarantee
from p2psub.model.outcomes import Outcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.node.cores import Cores
from tests.unit.bench import TICK_US, event_of, parcel_of, records_of, tick
from tests.unit.owner.owners import HERE, THERE, TOPIC, acknowledge, end, stored

PRICE, PENALTY = 1_500_000, 150_000
BID = Bid(deadline_us=2 * TICK_US, price=PRICE, penalty=PENALTY)
HURRIED = msgspec.structs.replace(HERE, bid=BID)
TWO = parcel_of(event_of(TOPIC, 1), event_of(TOPIC, 2))
TIMED = parcel_of(event_of(TOPIC, 1, timeout_us=TICK_US))


def books(cores: Cores) -> BookSums:
    """What they say of all subscriptions."""
    return cores.owner.settlements.books.sums()


def test_pair_that_is_delivered_earns_its_price() -> None:
    """A bid's price, or 1 where nothing is bid; the trace has the age, and the amount where it is not 1."""
    cores, parcel = stored(HURRIED, THERE, parcel=TWO)
    end(cores, parcel, HURRIED)
    end(cores, parcel, THERE)
    assert books(cores) == BookSums(4, 2 * PRICE + 2 * PRICE_ONE, 0, {})
    told = records_of(cores.step, Kind.OUTCOME)
    assert [(r.run, r.age_us, r.earned, r.reason) for r in told] == [(2, 0, PRICE, None), (2, 0, None, None)]


def test_pair_counts_once_however_often_its_end_is_told() -> None:
    """An answer, the same again, and an acknowledgement of the same number."""
    cores, parcel = stored(HURRIED, THERE)
    for _ in range(2):
        end(cores, parcel, HURRIED)
        acknowledge(cores, HURRIED, 1)
    assert books(cores) == BookSums(1, PRICE, 0, {})


def test_pair_that_expires_costs_its_penalty() -> None:
    """By its deadline; one without a deadline goes on being owed."""
    cores, _ = stored(HURRIED, THERE)
    tick(cores.step, cores.owner.tick, 64)
    assert books(cores) == BookSums(0, 0, PENALTY, {Reason.DEADLINE: 1})
    (told,) = records_of(cores.step, Kind.OUTCOME)
    assert (told.outcome, told.reason, told.earned) == (Outcome.EXPIRED, Reason.DEADLINE, -PENALTY)
    assert told.age_us is not None
    assert told.age_us > BID.deadline_us


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (Outcome.HOPELESS, Reason.HOPELESS),
        (Outcome.UNREACHABLE, Reason.OLDER_THAN_TTL),
        (Outcome.SPOOL_FULL, Reason.SPOOL_FULL),
        (Outcome.EXPIRED, Reason.DEADLINE),
    ],
)
def test_whatever_is_owed_and_not_handed_over_costs_its_penalty(said: Outcome, reason: Reason) -> None:
    """Formula (1): the penalty is for every event that a subscription should have got."""
    cores, parcel = stored(HURRIED)
    end(cores, parcel, HURRIED, said)
    assert books(cores) == BookSums(0, 0, PENALTY, {reason: 1})


@pytest.mark.parametrize("said", [Outcome.UNSUBSCRIBED, Outcome.ENDED, Outcome.REFUSED])
def test_what_its_subscriber_ended_is_in_no_books(said: Outcome) -> None:
    """It is owed no more."""
    cores, parcel = stored(HURRIED)
    end(cores, parcel, HURRIED, said)
    assert books(cores) == EMPTY_BOOKS


def test_reason_is_the_limit_that_passed_first() -> None:
    """The publisher's timeout is shorter here than the subscription's deadline."""
    cores, parcel = stored(HURRIED, parcel=TIMED)
    end(cores, parcel, HURRIED, Outcome.EXPIRED)
    assert books(cores).expired == {Reason.TIMEOUT: 1}


def test_what_a_full_channel_made_late_costs_nothing() -> None:
    """No owner could have done better."""
    cores, parcel = stored(HURRIED)
    end(cores, parcel, HURRIED, Outcome.DEFERRED)
    tick(cores.step, cores.owner.tick, 4)
    assert books(cores) == BookSums(0, 0, 0, {Reason.CHANNEL_FULL: 1})
    (told,) = records_of(cores.step, Kind.OUTCOME)
    assert (told.outcome, told.reason, told.earned) == (Outcome.EXPIRED, Reason.CHANNEL_FULL, None)


def test_channel_that_had_room_when_the_time_ran_out_excuses_nothing() -> None:
    """It was full before, and is full again after."""
    slow = msgspec.structs.replace(HURRIED, bid=msgspec.structs.replace(BID, deadline_us=6 * TICK_US))
    cores, parcel = stored(slow)
    end(cores, parcel, slow, Outcome.DEFERRED)
    tick(cores.step, cores.owner.tick, 2)
    acknowledge(cores, slow, 0, serial=2)
    tick(cores.step, cores.owner.tick, 5)
    acknowledge(cores, slow, 0, serial=3, room=0)
    end(cores, parcel, slow, Outcome.EXPIRED)
    assert books(cores).expired == {Reason.DEADLINE: 1}


def test_books_are_kept_by_subscription_too() -> None:
    """Of each its own."""
    cores, parcel = stored(HURRIED, THERE)
    end(cores, parcel, THERE)
    end(cores, parcel, HURRIED, Outcome.HOPELESS)
    shown = [(one.subscription, one.guarantee, one.sums) for one in cores.owner.settlements.books.by_subscription()]
    assert shown == [
        (THERE.id, Guarantee.EFFECTIVELY_ONCE, BookSums(1, PRICE_ONE, 0, {})),
        (HURRIED.id, Guarantee.EFFECTIVELY_ONCE, BookSums(0, 0, PENALTY, {Reason.HOPELESS: 1})),
    ]


def test_trace_is_told_the_sums_when_they_have_changed() -> None:
    """So that whoever reads it can compare them with the pairs before."""
    cores, parcel = stored(THERE)
    end(cores, parcel, THERE)
    tick(cores.step, cores.owner.tick, 20)
    (told,) = records_of(cores.step, Kind.BOOKS)
    assert (told.guarantee, told.books) == (Guarantee.EFFECTIVELY_ONCE, BookSums(1, PRICE_ONE, 0, {}))
    tick(cores.step, cores.owner.tick, 40)
    assert records_of(cores.step, Kind.BOOKS) == []


def test_amounts_add_up_exactly() -> None:
    """They are ints, in millionths, and no float is ever added."""
    cheap = msgspec.structs.replace(HERE, bid=Bid(0, 1, 0))
    cores, parcel = stored(cheap, parcel=TWO)
    end(cores, parcel, cheap)
    assert books(cores).earned == 2
    assert BookSums(1, 3, 5, {Reason.DEADLINE: 2}).plus(
        BookSums(1, 1 << 60, 5, {Reason.DEADLINE: 1, Reason.TIMEOUT: 1})
    ) == BookSums(2, (1 << 60) + 3, 10, {Reason.DEADLINE: 3, Reason.TIMEOUT: 1})
