"""Parcels in the outbox: numbered in a row, for each owner its own, and tried again until every event is taken."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.config import PubSubConfig
from p2psub.model.ids import key_of_topic
from p2psub.model.messages.pubsub import Acknowledge, Acknowledged, NotOwner, Publish
from p2psub.model.parcel_parts import is_sound
from p2psub.model.parcels import ParcelId
from p2psub.model.reasons import Reason
from tests.unit.bench import (
    CONFIG,
    at,
    bits,
    hold_up,
    node_at,
    sent,
    sent_of,
    tick,
    told_myself,
)
from tests.unit.publisher.publishers import (
    NEW_OWNER,
    ONCE,
    OWNER,
    PublishingPeer,
    acknowledge,
    outcome_of,
)

NEAR, FAR = "near", "far"
BOTH = {NEAR: OWNER, FAR: NEW_OWNER}


def numbers(publish: Publish) -> list[int]:
    """Sequence numbers of the events in a publish."""
    return [event.id.sequence for event in publish.parcel.events]


def test_ids_of_a_parcel_are_in_a_row_and_in_the_order_of_publishing() -> None:
    """Whatever else was published between: for each owner its own row."""
    publisher = PublishingPeer(owners=BOTH)
    publisher.publish_on(NEAR, FAR, FAR, NEAR, NEAR)
    publisher.publish_on(FAR, NEAR, number=6)
    said = sent_of(publisher.step, Publish)
    assert [(to, publish.parcel.number, numbers(publish)) for to, publish in said] == [
        (OWNER, 1, [1, 2, 3]),
        (NEW_OWNER, 2, [4, 5]),
        (NEW_OWNER, 3, [6]),
        (OWNER, 4, [7]),
    ]
    assert all(is_sound(publish.parcel) for _, publish in said)
    acknowledge(publisher)
    told = [(command, outcome.event.sequence) for command, outcome in publisher.replies()]
    assert told == [(1, 1), (4, 2), (5, 3)]


def test_topics_of_a_parcel_are_each_in_the_order_of_publishing() -> None:
    """Those of one topic stand together; each is answered under the number that its application knows."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish_on("a", "b", "a", "c", "b", number=10)
    ((_, publish),) = sent_of(publisher.step, Publish)
    assert [(event.topic, event.id.sequence) for event in publish.parcel.events] == [
        ("a", 1),
        ("a", 2),
        ("b", 3),
        ("b", 4),
        ("c", 5),
    ]
    acknowledge(publisher)
    told = [(command, outcome.event.sequence) for command, outcome in publisher.replies()]
    assert told == [(10, 1), (12, 2), (11, 3), (14, 4), (13, 5)]


def test_full_disk_is_the_last_word_on_a_first_try_alone() -> None:
    """A second owner cannot know whether a first one took the event: it stays ours until one has room."""
    publisher = PublishingPeer(owner=OWNER)
    full = Acknowledged(bits(), refused=Reason.DISK_FULL)
    publisher.publish(1, ONCE)
    publisher.core.on_acknowledge(OWNER, Acknowledge(ParcelId(node_at(1), 1, 1), (full,)))
    assert [outcome.refused for _, outcome in publisher.replies()] == [Reason.DISK_FULL]
    publisher.publish(2, ONCE)
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks)
    publisher.find(NEW_OWNER)
    publisher.core.on_acknowledge(NEW_OWNER, Acknowledge(ParcelId(node_at(1), 1, 2), (full,)))
    assert (publisher.replies(), publisher.outbox) == ([], 1)
    acknowledge(publisher, number=2)
    assert publisher.outbox == 0


def test_partly_acknowledged_parcel_is_tried_again_without_what_was_acknowledged() -> None:
    """Each event is answered once; the rest stays ours, and is a part of the same parcel."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish(20, *[ONCE] * 5)
    ((_, whole),) = sent_of(publisher.step, Publish)
    acknowledge(publisher, 0, 1, 3)
    acknowledge(publisher, 1, 3)
    assert publisher.replies() == [(20, outcome_of(1)), (21, outcome_of(2)), (23, outcome_of(4))]
    assert publisher.outbox == 2
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks)
    publisher.find(OWNER)
    ((_, again),) = sent_of(publisher.step, Publish)
    assert again.parcel == whole.parcel.part(0b10100)
    acknowledge(publisher)
    assert publisher.replies() == [(22, outcome_of(3)), (24, outcome_of(5))]
    assert publisher.outbox == 0


def test_late_acknowledgement_of_an_earlier_incarnation_changes_nothing() -> None:
    """Its parcel had the same number, and other events: ours are not meant, nor by a word on another's parcel."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish(1, ONCE, ONCE)
    sent(publisher.step)
    acknowledge(publisher, incarnation=0)
    acknowledge(publisher, incarnation=2)
    said = (Acknowledged(b"", 3, 2),)
    publisher.core.on_acknowledge(OWNER, Acknowledge(ParcelId(node_at(2), 1, 1), said))
    before = NotOwner(ParcelId(node_at(1), 0, 1), ((b"", NEW_OWNER),))
    publisher.core.on_not_owner(OWNER, before)
    assert (publisher.replies(), sent(publisher.step), publisher.outbox) == ([], [], 2)


def test_event_goes_to_one_owner_however_many_are_named() -> None:
    """A liar's thousand names for the same events do not make a thousand messages."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish(1, *[ONCE] * 4)
    ((_, whole),) = sent_of(publisher.step, Publish)
    publisher.hear_not_owner(1, (bits(0, 1), NEW_OWNER), *[(b"", at(n)) for n in range(100, 200)])
    expected = [(NEW_OWNER, whole.parcel.part(0b0011)), (at(100), whole.parcel.part(0b1100))]
    assert [(to, publish.parcel) for to, publish in sent_of(publisher.step, Publish)] == expected


def test_parcel_that_several_members_own_is_split_among_them() -> None:
    """Each gets the events that are its own, all under the number of the parcel; who is not named waits."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish(1, *[ONCE] * 4)
    ((_, whole),) = sent_of(publisher.step, Publish)
    publisher.hear_not_owner(1, (bits(0, 2), NEW_OWNER), (bits(1), at(1)), (bits(3), None), (bits(200), OWNER))
    expected = [(NEW_OWNER, whole.parcel.part(0b0101))]
    assert [(to, publish.parcel) for to, publish in sent_of(publisher.step, Publish)] == expected
    assert [message.parcel for message in told_myself(publisher.step, Publish)] == [whole.parcel.part(0b0010)]
    acknowledge(publisher, 0, 2)
    publisher.hear_not_owner(1, (bits(0, 2, 3), NEW_OWNER))
    ((_, rest),) = sent_of(publisher.step, Publish)
    assert rest.parcel == whole.parcel.part(0b1000), "what was acknowledged is nobody's to take again"


def test_retry_looks_up_once_for_each_owner() -> None:
    """Not once for each event or topic: by the table of then, which may give the parcel to several members."""
    publisher = PublishingPeer(owner=OWNER)
    topics = [str(n) for n in range(12)]
    publisher.publish_on(*topics, *topics)
    ((_, whole),) = sent_of(publisher.step, Publish)
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks)
    far = {key_of_topic(topic): NEW_OWNER for topic in topics[1::2]}
    assert len(publisher.looked_up()) == 1
    publisher.owners.update(far)
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks)
    keys = publisher.looked_up()
    assert keys == [key_of_topic(topics[0]), key_of_topic(topics[1])]
    publisher.found(keys[1], NEW_OWNER)
    ((to, publish),) = sent_of(publisher.step, Publish)
    moved = sum(1 << place for place, event in enumerate(whole.parcel.events) if event.topic in topics[1::2])
    assert (to, publish.parcel) == (NEW_OWNER, whole.parcel.part(moved))


def test_what_was_acknowledged_meanwhile_is_not_sent_where_the_look_up_leads() -> None:
    """An owner that was slow is no silent one."""
    publisher = PublishingPeer()
    publisher.publish(1, ONCE, ONCE)
    acknowledge(publisher, 0)
    publisher.find(OWNER)
    ((_, publish),) = sent_of(publisher.step, Publish)
    assert numbers(publish) == [2]
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks)
    acknowledge(publisher, 1)
    publisher.find(OWNER)
    assert sent_of(publisher.step, Publish) == []


def test_full_outbox_counts_events_and_takes_what_fits() -> None:
    """Of one step some are taken and the rest refused: each application hears about its own."""
    publisher = PublishingPeer(PubSubConfig(outbox_events_max=3), owner=OWNER)
    publisher.publish(1, *[ONCE] * 5)
    ((_, publish),) = sent_of(publisher.step, Publish)
    assert numbers(publish) == [1, 2, 3]
    refused = [(command, outcome.refused) for command, outcome in publisher.replies()]
    assert refused == [(4, "outbox_full"), (5, "outbox_full")]
    acknowledge(publisher, 1)
    publisher.publish(6, ONCE, ONCE)
    ((_, publish),) = sent_of(publisher.step, Publish)
    assert numbers(publish) == [6]


WORDS = st.builds(
    Acknowledged,
    st.binary(max_size=32),
    st.none() | st.integers(0, 3),
    st.none() | st.integers(0, 3),
    st.none() | st.just(Reason.NOT_AUTHORIZED),
)


@given(st.lists(st.tuples(st.integers(1, 3), st.lists(WORDS, max_size=3)), max_size=6))
def test_whatever_an_owner_says_each_event_is_answered_once(said: list[tuple[int, list[Acknowledged]]]) -> None:
    """Of places that are there, are not, or were answered before; the outbox counts what is left."""
    publisher = PublishingPeer(owners=BOTH)
    publisher.publish_on(*[NEAR, FAR] * 6)
    for number, words in said:
        publisher.core.on_acknowledge(OWNER, Acknowledge(ParcelId(node_at(1), 1, number), tuple(words)))
        publisher.hear_not_owner(number, *((word.bitmap, NEW_OWNER) for word in words))
    answered = [command for command, _ in publisher.replies()]
    assert len(answered) == len(set(answered))
    assert publisher.outbox == 12 - len(answered)
    sent(publisher.step)
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks)
    publisher.find(OWNER)
    again = [event for _, publish in sent_of(publisher.step, Publish) for event in publish.parcel.events]
    assert len(again) == len({event.id for event in again}) == publisher.outbox


def test_publish_that_waits_for_its_link_is_not_repeated() -> None:
    """Its patience begins when it left; if it never leaves, the ring is asked at the next tick."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish()
    (waiting,) = hold_up(publisher.step)
    sent(publisher.step)
    tick(publisher.step, publisher.core.tick, 5 * CONFIG.pubsub.retry_ticks)
    assert publisher.looked_up() == []
    waiting.leave(publisher.step.tick, 2)
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks + 1)
    assert publisher.looked_up() == []
    waiting.lose(publisher.step.tick)
    tick(publisher.step, publisher.core.tick)
    assert len(publisher.looked_up()) == 1


def test_outbox_tells_whether_an_owner_has_all_that_was_published_for_it_by_then() -> None:
    """By what our table says now: a parcel that went to one owner may have events for another by the next table."""
    publisher = PublishingPeer(owners={NEAR: OWNER, FAR: OWNER})
    publisher.publish_on(NEAR, FAR)
    then = publisher.step.now
    tick(publisher.step, publisher.core.tick)
    publisher.publish_on(NEAR, number=3)
    publisher.owners = {key_of_topic(topic): owner for topic, owner in BOTH.items()}
    assert publisher.core.awaits(OWNER.id, then)
    assert publisher.core.awaits(NEW_OWNER.id, then)
    assert not publisher.core.awaits(node_at(1), then)
    acknowledge(publisher, 0)
    assert not publisher.core.awaits(OWNER.id, then)
    assert publisher.core.awaits(OWNER.id, publisher.step.now), "what came later"
    assert publisher.core.awaits(NEW_OWNER.id, then), "the rest of the parcel"
    acknowledge(publisher, 1)
    assert not publisher.core.awaits(NEW_OWNER.id, publisher.step.now)
