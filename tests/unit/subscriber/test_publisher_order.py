"""The guard of an ordered subscription: it knows of each event whether a later one of its publisher came before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.content import Event, Guarantee
from p2psub.model.ids import EventId
from p2psub.model.instants import Micros
from p2psub.subscriber.publisher_order import PublisherOrder
from tests.unit.bench import event_of, node_at

SPAN_US = Micros(1_000)
START_US = Micros(0)


def late(order: PublisherOrder, *sequences: int, now: int = 0, topic: str = "x", publisher: int = 9) -> int:
    """How many of these events come late."""
    return order.count_late([event_of(topic, n, publisher) for n in sequences], Micros(now))


def test_event_after_a_later_one_is_late() -> None:
    """Within one hand-over and across several; one that is late does not make the next late."""
    order = PublisherOrder(SPAN_US)
    assert late(order, 1, 2, 5, 4) == 1
    assert late(order, 3) == 1
    assert late(order, 6) == 0


def test_publishers_and_topics_have_their_own_lines() -> None:
    """A later event of another publisher, or on another topic, says nothing."""
    order = PublisherOrder(SPAN_US)
    assert late(order, 9) == 0
    assert late(order, 1, publisher=10) == 0
    assert late(order, 1, topic="y") == 0
    assert late(order, 1) == 1


def test_what_promises_nothing_has_no_order() -> None:
    """It is neither late nor makes another late."""
    order = PublisherOrder(SPAN_US)
    free = [event_of("x", n, guarantee=Guarantee.AT_MOST_ONCE) for n in (9, 1)]
    assert order.count_late(free, START_US) == 0
    assert late(order, 5, 6) == 0


def test_later_start_of_a_publisher_is_later_whatever_its_numbers() -> None:
    """An event of the start before it comes late after it."""
    order = PublisherOrder(SPAN_US)
    again = Event(EventId(node_at(9), 2, 1), "x", {})
    assert late(order, 7) == 0
    assert order.count_late([again], START_US) == 0
    assert late(order, 8) == 1


def test_last_event_is_remembered_for_the_span_at_least() -> None:
    """For as long as an older one could still be handed over; and not for ever."""
    order = PublisherOrder(SPAN_US)
    late(order, 5, now=SPAN_US)
    assert late(order, 4, now=2 * SPAN_US) == 1
    assert late(order, 3, now=2 * SPAN_US + 1) == 1
    late(order, 1, now=10 * SPAN_US, topic="y")
    assert late(order, 2, now=20 * SPAN_US) == 0


NAMES = st.tuples(st.integers(1, 3), st.sampled_from("xy"), st.integers(1, 6))


@given(st.lists(st.lists(NAMES, max_size=6), max_size=8))
def test_late_are_those_below_the_highest_that_came_before(batches: list[list[tuple[int, str, int]]]) -> None:
    """Of the same publisher and topic, within the span."""
    order, highest = PublisherOrder(SPAN_US), dict[tuple[int, str], int]()
    for batch in batches:
        expected = 0
        for publisher, topic, sequence in batch:
            expected += sequence < highest.get((publisher, topic), 0)
            highest[publisher, topic] = max(sequence, highest.get((publisher, topic), 0))
        assert order.count_late([event_of(topic, n, publisher) for publisher, topic, n in batch], START_US) == expected
