"""What an owner does when the time of an event is over: by a subscription's deadline, or by the publisher's timeout."""

from __future__ import annotations

import msgspec
import pytest

from p2psub.model.bids import NO_BID, Bid, BidSum
from p2psub.model.content import Guarantee
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.messages.pubsub import Deliver, ParcelToOwner, Route, StoreCopy
from p2psub.model.outcomes import Outcome
from p2psub.model.parcels import Parcel
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.node.cores import Cores
from tests.unit.bench import (
    CONFIG,
    TICK_US,
    event_of,
    make_durable,
    parcel_of,
    records_of,
    sent,
    sent_of,
    tick,
)
from tests.unit.owner.owners import (
    HERE,
    PUBLISHER,
    THERE,
    TOPIC,
    confirm,
    end,
    outcomes,
    owner,
    publish,
    stored,
    wants_sent,
)

PRICED = Bid(deadline_us=10 * SECOND_US, price=1_500_000, penalty=150_000)
HURRIED = msgspec.structs.replace(HERE, bid=PRICED)
HURRIED_THERE = msgspec.structs.replace(THERE, bid=PRICED)
TICKS_OF_DEADLINE = PRICED.deadline_us // TICK_US
REDELIVER = CONFIG.pubsub.redeliver_ticks


def timed(timeout_us: int, count: int = 1, guarantee: Guarantee = Guarantee.EFFECTIVELY_ONCE) -> Parcel:
    """A parcel of events with a timeout."""
    events = [event_of(TOPIC, n, timeout_us=timeout_us, guarantee=guarantee) for n in range(1, count + 1)]
    return parcel_of(*events)


def copied_late(cores: Cores, parcel: Parcel, age_us: int) -> None:
    """A parcel comes at this age, and gets its copies."""
    publish(cores, parcel, age_us)
    make_durable(cores.step)
    confirm(cores, parcel, 64, 96)


def test_bids_travel_with_the_obligation() -> None:
    """In copies whole; in what goes out as the deadline of each want and the sum of all for the link's queue."""
    cores = owner(HURRIED, HURRIED_THERE)
    parcel = parcel_of(event_of(TOPIC, 1), event_of(TOPIC, 2))
    publish(cores, parcel)
    make_durable(cores.step)
    copies = [owed for _, copy in sent_of(cores.step, StoreCopy) for owed in copy.owed_parcels]
    assert {owed.bid for copy in copies for owed in copy.owed} == {PRICED}
    confirm(cores, parcel, 64, 96)
    ((_, deliver), (_, route)) = [(to, m) for to, m in sent(cores.step) if isinstance(m, Deliver | Route)]
    both = (BidSum(PRICED.deadline_us, 2 * PRICED.price, 2 * PRICED.penalty, 2),)
    assert isinstance(deliver, Deliver)
    assert isinstance(route, Route)
    assert (deliver.wants[0].deadline_us, deliver.bids) == (PRICED.deadline_us, both)
    ((_, (want,), bids),) = route.wants
    assert (want.deadline_us, bids) == (PRICED.deadline_us, both)


def test_sum_is_by_the_earlier_of_timeout_and_deadline() -> None:
    """Those who named no deadline are pressed by the timeout, and bid what all bid."""
    cores = owner(HURRIED, msgspec.structs.replace(HERE, id=HERE.id._replace(sequence=7)))
    copied_late(cores, timed(20 * SECOND_US), 0)
    ((_, deliver),) = sent_of(cores.step, Deliver)
    assert deliver.bids == (
        BidSum(10 * SECOND_US, PRICED.price, PRICED.penalty, 1),
        BidSum(20 * SECOND_US, NO_BID.price, 0, 1),
    )


def test_what_nobody_presses_says_nothing_of_bids() -> None:
    """The default needs no words."""
    cores, _ = stored(HERE)
    ((_, deliver),) = sent_of(cores.step, Deliver)
    assert deliver.bids == ()


def test_late_publish_is_acknowledged_and_ends_at_once() -> None:
    """It is stored and matched as any other; what it owes is settled before it is paid, and then it is discharged."""
    cores = owner(HURRIED, THERE)
    parcel = timed(0)
    copied_late(cores, parcel, PRICED.deadline_us + 1)
    assert outcomes(cores) == [(HURRIED.id, Outcome.EXPIRED)]
    assert [want.subscription for _, want in wants_sent(cores)] == [THERE.id]
    copied_late(cores, parcel_of(event_of(TOPIC, 2, timeout_us=SECOND_US)), SECOND_US + 1)
    assert records_of(cores.step, Kind.DISCHARGE)
    assert wants_sent(cores) == []


def test_age_that_is_just_the_limit_is_in_time() -> None:
    """Late is what is older."""
    cores = owner(HURRIED)
    copied_late(cores, timed(0), PRICED.deadline_us)
    assert [want.subscription for _, want in wants_sent(cores)] == [HURRIED.id]


def test_what_waits_for_room_expires_when_its_time_is_over() -> None:
    """A stopped stream costs nothing until then; then the pair ends, and a pair without deadline goes on waiting."""
    hurried = msgspec.structs.replace(HERE, bid=Bid(deadline_us=2 * TICK_US))
    cores, parcel = stored(hurried, THERE)
    end(cores, parcel, hurried, Outcome.DEFERRED)
    tick(cores.step, cores.owner.tick, 2)
    assert outcomes(cores) == []
    tick(cores.step, cores.owner.tick, 1)
    assert outcomes(cores) == [(HURRIED.id, Outcome.EXPIRED)]
    assert cores.owner.status().undischarged == 1


def test_what_is_on_its_way_is_not_called_expired_while_an_answer_may_come() -> None:
    """The subscriber may have taken it in time: only where it would be repeated its owner gives it up."""
    priced = msgspec.structs.replace(HERE, bid=Bid(deadline_us=TICK_US))
    cores, _ = stored(priced)
    tick(cores.step, cores.owner.tick, REDELIVER - 1)
    assert outcomes(cores) == []
    sent(cores.step)
    tick(cores.step, cores.owner.tick, 1)
    assert outcomes(cores) == [(priced.id, Outcome.EXPIRED)]
    assert wants_sent(cores) == []
    assert cores.owner.status().undischarged == 0


def test_answer_that_comes_after_the_deadline_counts() -> None:
    """Taken in time, said late."""
    priced = msgspec.structs.replace(HERE, bid=Bid(deadline_us=TICK_US))
    cores, parcel = stored(priced)
    tick(cores.step, cores.owner.tick, 4)
    end(cores, parcel, priced)
    assert outcomes(cores) == [(priced.id, Outcome.DELIVERED)]


def test_next_owner_knows_the_terms() -> None:
    """A holder that becomes the owner settles by the same deadline and the same age."""
    cores = owner(HURRIED)
    parcel = timed(0)
    publish(cores, parcel)
    make_durable(cores.step)
    ((_, copy), *_) = sent_of(cores.step, StoreCopy)
    (owed_parcel,) = copy.aged(PRICED.deadline_us + 1).owed_parcels
    heir = owner(HURRIED)
    heir.owner.hold(owed_parcel, owed_parcel.parcel.places, Kind.COPY)
    make_durable(heir.step)
    confirm(heir, parcel, 64, 96)
    assert outcomes(heir) == [(HURRIED.id, Outcome.EXPIRED)]


def test_replayed_event_has_no_deadline() -> None:
    """It was published before its subscription came; its price stays."""
    cores, parcel = stored(HERE, parcel=parcel_of(event_of(TOPIC, retain_us=3600 * SECOND_US)))
    end(cores, parcel, HERE)
    tick(cores.step, cores.owner.tick, TICKS_OF_DEADLINE + 1)
    late = msgspec.structs.replace(HURRIED, id=HERE.id._replace(sequence=9), replay=True)
    assert cores.owner.replay(late) == 1
    make_durable(cores.step)
    confirm(cores, parcel, 64, 96)
    deliver = [message for _, message in sent(cores.step) if isinstance(message, Deliver)][-1]
    assert (deliver.wants[0].deadline_us, deliver.bids) == (0, (BidSum(0, PRICED.price, 0, 1),))


def test_late_event_that_promises_nothing_is_dropped_with_a_record() -> None:
    """It has no outcome: the record is all that is said of it."""
    cores = owner(HERE)
    parcel = timed(SECOND_US, 3, Guarantee.AT_MOST_ONCE)
    cores.owner.parcels.on_parcel_to_owner(PUBLISHER, ParcelToOwner(parcel).aged(SECOND_US + 1))
    assert sent_of(cores.step, Deliver) == []
    (drop,) = records_of(cores.step, Kind.DROP)
    assert (drop.subscription, drop.reason, drop.count) == (HERE.id, Reason.EXPIRED, 3)


def test_event_that_promises_nothing_carries_its_age_on() -> None:
    """What it waited for on its way to the owner counts at the subscriber."""
    cores = owner(HURRIED)
    parcel = timed(0, 1, Guarantee.AT_MOST_ONCE)
    cores.owner.parcels.on_parcel_to_owner(PUBLISHER, ParcelToOwner(parcel, (), Micros(7)))
    ((_, deliver),) = sent_of(cores.step, Deliver)
    assert (deliver.age_us, deliver.wants[0].deadline_us) == (7, PRICED.deadline_us)


@pytest.mark.parametrize("outcome", [Outcome.EXPIRED, Outcome.HOPELESS])
def test_what_is_said_on_the_way_is_final(outcome: Outcome) -> None:
    """A super-node, or a link's queue, answers in the subscriber's stead."""
    cores, parcel = stored(HURRIED)
    sent(cores.step)
    end(cores, parcel, HURRIED, outcome)
    assert outcomes(cores) == [(HURRIED.id, outcome)]
    assert cores.owner.status().undischarged == 0
