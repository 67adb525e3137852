"""Events that come before their turn: an owner takes none whose predecessor on its topic it does not know."""

from __future__ import annotations

from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Acknowledge, NotOwner, Predecessor, Publish, StoreCopy
from p2psub.model.messages.shards import MatchRequest
from p2psub.model.parcels import Parcel
from p2psub.model.records import Kind
from p2psub.node.cores import Cores
from tests.unit.bench import (
    CLUSTER,
    at,
    bits,
    event_of,
    forget,
    member_at,
    parcel_of,
    records_of,
    sent,
    sent_of,
    topic_in,
)
from tests.unit.owner.copies import owed_in
from tests.unit.owner.owners import (
    HERE,
    PUBLISHER,
    TABLE,
    TOPIC,
    acknowledged,
    end,
    owner,
    pay,
    publish,
)

FIRST, SECOND = (parcel_of(event_of(TOPIC, n)) for n in (1, 2))
AFTER_FIRST = (Predecessor(TOPIC, 1, 1),)
OTHER = topic_in(128, 32)


def held(cores: Cores) -> list[int]:
    """The sequence numbers of the events that an owner holds."""
    return [event.sequence for event in cores.owner.status().kept]


def drops(cores: Cores) -> list[tuple[str | None, int | None]]:
    """Why events were not taken since the last look, and how many."""
    return [(drop.reason, drop.count) for drop in records_of(cores.step, Kind.DROP)]


def is_taken(cores: Cores, parcel: Parcel = SECOND, after: tuple[Predecessor, ...] = AFTER_FIRST) -> bool:
    """Whether an owner takes a parcel that comes after another."""
    forget(cores.step)
    publish(cores, parcel, after=after)
    return parcel.first.sequence in held(cores)


def test_event_is_not_taken_before_its_predecessor() -> None:
    """Its publisher hears nothing, and repeats it: those before first. The trace says why."""
    cores = owner(HERE)
    publish(cores, SECOND, after=AFTER_FIRST)
    assert (sent(cores.step), held(cores), drops(cores)) == ([], [], [("too_early", 1)])
    publish(cores, FIRST)
    publish(cores, SECOND, after=AFTER_FIRST)
    assert (held(cores), drops(cores)) == ([1, 2], [])


def test_predecessor_that_is_being_matched_is_known() -> None:
    """It is stored first: what one publisher brings is matched in the order in which it comes."""
    cores = owner(HERE)
    cores.owner.on_publish(PUBLISHER, Publish(FIRST, Micros(0)))
    sent(cores.step)
    cores.owner.on_publish(PUBLISHER, Publish(SECOND, Micros(0), AFTER_FIRST))
    assert {ask.events[0].id.sequence for _, ask in sent_of(cores.step, MatchRequest)} == {2}
    assert drops(cores) == []


def test_predecessor_that_owes_nothing_any_more_is_known() -> None:
    """Its acknowledgement was lost: it was stored, and paid."""
    cores = owner(HERE)
    pay(cores, FIRST)
    end(cores, FIRST, HERE)
    assert held(cores) == []
    assert is_taken(cores)


def test_predecessor_that_another_owner_took_is_known_by_its_copy() -> None:
    """After a new table: the copy that came back is ahead of what is published now."""
    former, cores = owner(HERE), owner(HERE)
    pay(former, FIRST)
    assert not is_taken(cores)
    cores.owner.on_store_copy(at(64), StoreCopy(CLUSTER, tuple(owed_in(former))))
    assert is_taken(cores)


def test_another_event_of_the_parcel_of_the_predecessor_is_not_the_predecessor() -> None:
    """A parcel may come in parts: each event is known by itself."""
    whole = parcel_of(event_of(TOPIC, 1), event_of(TOPIC, 2))
    third, after = parcel_of(event_of(TOPIC, 3)), (Predecessor(TOPIC, 1, 2),)
    cores = owner(HERE)
    publish(cores, whole.part(0b01))
    assert not is_taken(cores, third, after)
    publish(cores, whole.part(0b10))
    assert is_taken(cores, third, after)


def test_other_topics_of_the_parcel_are_taken() -> None:
    """They come after nothing, or after what is known; those that come too early are taken later."""
    parcel = parcel_of(event_of(TOPIC, 2), event_of(OTHER, 3), event_of(TOPIC, 4))
    cores = owner(HERE)
    publish(cores, parcel, after=(*AFTER_FIRST, Predecessor("topic of no event", 9, 9)))
    assert drops(cores) == [("too_early", 2)]
    ((_, answer),) = sent_of(cores.step, Acknowledge)
    assert [said.bitmap for said in answer.outcomes] == [bits(1)], "nobody wants it"
    publish(cores, FIRST)
    publish(cores, parcel.part(0b101), after=AFTER_FIRST)
    assert held(cores) == [1, 2, 4]


def test_event_that_is_known_is_acknowledged_whatever_it_comes_after() -> None:
    """It was taken in its turn: its predecessor may be forgotten by now."""
    cores = owner(HERE)
    pay(cores, SECOND)
    forget(cores.step)
    publish(cores, SECOND, after=AFTER_FIRST)
    assert sent_of(cores.step, Acknowledge) == [acknowledged(SECOND, 3, 1)]
    assert drops(cores) == []


def test_predecessor_of_another_publisher_or_start_is_not_meant() -> None:
    """Numbers are those of the parcel's own publisher, and of its start."""
    cores = owner(HERE)
    theirs = parcel_of(event_of(TOPIC, 1, publisher=10))
    cores.owner.on_publish(at(10), Publish(theirs, Micros(0)))
    assert not is_taken(cores)


def test_member_that_is_not_the_owner_says_who_is_whatever_comes_before() -> None:
    """It need not know the predecessor for that, and records no drop."""
    cores = member_at(64, TABLE)
    cores.owner.on_publish(PUBLISHER, Publish(SECOND, Micros(0), AFTER_FIRST))
    assert sent(cores.step) == [(PUBLISHER, NotOwner(SECOND.id, ((bits(0), at(32)),)))]
    assert (held(cores), drops(cores)) == ([], [])
