"""What a publisher says of the events before: the last on each topic that no owner has acknowledged yet."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.messages.pubsub import Acknowledge, Acknowledged, Predecessor, Publish
from p2psub.model.parcels import ParcelId
from p2psub.model.reasons import Reason
from tests.unit.bench import CONFIG, node_at, sent_of, tick
from tests.unit.publisher.publishers import NEW_OWNER, OWNER, PublishingPeer, acknowledge


def after(publisher: PublishingPeer) -> dict[int, list[Predecessor]]:
    """By the numbers of the parcels published since the last look, what they come after."""
    return {publish.parcel.number: list(publish.after) for _, publish in sent_of(publisher.step, Publish)}


def test_parcel_comes_after_the_last_unacknowledged_event_of_each_of_its_topics() -> None:
    """Named by its parcel and its number; a topic without one has no predecessor."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish_on("a", "b", "a")
    publisher.publish_on("b", "c", number=10)
    publisher.publish_on("a", "b", "c", number=20)
    assert after(publisher) == {
        1: [],
        2: [Predecessor("b", 1, 3)],
        3: [Predecessor("a", 1, 2), Predecessor("b", 2, 4), Predecessor("c", 2, 5)],
    }


def test_acknowledged_event_is_nobodys_predecessor() -> None:
    """Its owner has stored it: whatever comes now is stored later. Another event of its parcel may still wait."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish_on("a", "b")
    acknowledge(publisher, 0)
    publisher.publish_on("a", "b", number=10)
    assert after(publisher) == {1: [], 2: [Predecessor("b", 1, 2)]}
    acknowledge(publisher, 1)
    acknowledge(publisher, number=2)
    publisher.publish_on("a", "b", number=20)
    assert after(publisher) == {3: []}


def test_repeated_parcel_names_what_still_waits_by_then() -> None:
    """And not what was published after it."""
    publisher = PublishingPeer(owner=OWNER)
    for number in (1, 10, 20):
        publisher.publish_on("a", "b", number=number)
    after(publisher)
    acknowledge(publisher, 0, number=1)
    acknowledge(publisher, number=2)
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks)
    publisher.find(OWNER)
    assert after(publisher) == {1: [], 3: [Predecessor("b", 1, 2)]}, "what came between hides nothing"


def test_later_acknowledgement_does_not_hide_an_event_that_waits() -> None:
    """The next parcel comes after the one before it; that one said itself what it comes after."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish_on("a")
    publisher.publish_on("a", number=10)
    publisher.publish_on("a", number=20)
    assert after(publisher) == {1: [], 2: [Predecessor("a", 1, 1)], 3: [Predecessor("a", 2, 2)]}


def test_refused_event_hides_none_before_it_that_waits() -> None:
    """An owner with a full disk knows neither: as soon as it has room, the next must not overtake the first."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish_on("a")
    publisher.publish_on("a", number=10)
    publisher.publish_on("a", number=20)
    for number in (2, 3):
        said = Acknowledged(b"", refused=Reason.DISK_FULL)
        publisher.core.on_acknowledge(OWNER, Acknowledge(ParcelId(node_at(1), 1, number), (said,)))
    after(publisher)
    publisher.publish_on("a", number=30)
    assert after(publisher) == {4: [Predecessor("a", 1, 1)]}


def test_last_event_of_a_parcel_hides_none_before_it_that_waits() -> None:
    """One that nobody wants is acknowledged at once; those before it in the same parcel wait for their copies."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish_on("a", "a", "a")
    acknowledge(publisher, 2)
    after(publisher)
    publisher.publish_on("a", number=10)
    assert after(publisher) == {2: [Predecessor("a", 1, 2)]}


def test_nothing_is_kept_of_topics_when_the_outbox_is_empty() -> None:
    """A publisher may use any number of topics in its life."""
    publisher = PublishingPeer(owner=OWNER)
    for number in range(1, 4):
        publisher.publish_on(f"only{number}", "always", number=10 * number)
    for number in (2, 1, 3):
        acknowledge(publisher, number=number)
    assert (publisher.outbox, publisher.core._last_of_topic) == (0, {})


TOPICS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4)
STEPS = st.lists(st.one_of(TOPICS, st.tuples(st.integers(1, 6), st.integers(0, 3))), max_size=14)


@given(STEPS)
def test_predecessor_is_the_last_event_before_on_its_topic_that_waits(steps: list[list[str] | tuple[int, int]]) -> None:
    """Whatever was acknowledged meanwhile, and in which order."""
    publisher = PublishingPeer(owner=OWNER)
    waiting: dict[int, dict[int, str]] = {}
    firsts: dict[int, int] = {}
    for step in steps:
        if isinstance(step, tuple):
            number, place = step
            if number in waiting:
                acknowledge(publisher, place, number=number)
                waiting[number].pop(place, None)
            continue
        publisher.publish_on(*step)
        ((_, publish),) = sent_of(publisher.step, Publish)
        number, topics = publish.parcel.number, [event.topic for event in publish.parcel.events]
        expected = []
        for topic in dict.fromkeys(topics):
            before = [(n, place) for n, events in waiting.items() for place in events if events[place] == topic]
            expected += [(topic, n, firsts[n] + place) for n, place in sorted(before)[-1:]]
        assert [tuple(one) for one in publish.after] == expected
        waiting[number], firsts[number] = dict(enumerate(topics)), publish.parcel.first.sequence


def test_what_comes_after_a_repeated_event_is_repeated_behind_it() -> None:
    """By one look-up, lest one overtake another; what is published until its answer comes follows, too."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish_on("a", "b")
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks - 1)
    publisher.publish_on("b", number=10)
    publisher.publish_on("c", number=20)
    tick(publisher.step, publisher.core.tick)
    (key,) = publisher.looked_up()
    publisher.publish_on("b", "c", number=30)
    after(publisher)
    publisher.found(key, NEW_OWNER)
    repeated = [(to, publish.parcel) for to, publish in sent_of(publisher.step, Publish)]
    assert [(to, parcel.number, [event.topic for event in parcel.events]) for to, parcel in repeated] == [
        (NEW_OWNER, 1, ["a", "b"]),
        (NEW_OWNER, 2, ["b"]),
        (NEW_OWNER, 4, ["b"]),
    ]
