"""What the demo publishes fits what it wants."""

from __future__ import annotations

from random import Random

from p2psub.api.validation import check_draft
from p2psub.demo.market import draw_event, draw_filters
from p2psub.matching.language import parse_filter, print_filter
from p2psub.matching.linear import matches
from p2psub.model.content import Event, pinned_topics
from p2psub.model.ids import EventId
from tests.unit.bench import node_at

ANY_ID = EventId(node_at(1), 1, 1)


def test_one_seed_draws_the_same_content() -> None:
    """Events and filters depend on the seed alone."""
    one, other = ([draw_event(Random(7), 1), draw_filters(Random(7), 6)] for _ in range(2))
    assert one == other


def test_every_filter_takes_some_events_and_leaves_others() -> None:
    """No filter is vacuous, and there are as many different ones as were asked for."""
    rng = Random(3)
    filters = [parse_filter(text) for text in draw_filters(rng, 24)]
    drafts = [draw_event(rng, number) for number in range(500)]
    events = [Event(ANY_ID, draft.topic, draft.attributes) for draft in drafts]
    taken = [sum(matches(wanted, event) for event in events) for wanted in filters]
    assert all(0 < count < len(events) for count in taken)
    assert len({print_filter(wanted) for wanted in filters}) > 20


def test_some_filters_pin_topics_and_some_do_not() -> None:
    """Both ways of storing a subscription are shown."""
    pinned = [bool(pinned_topics(parse_filter(text))) for text in draw_filters(Random(1), 6)]
    assert set(pinned) == {True, False}


def test_every_event_is_a_sound_draft() -> None:
    """A peer would publish each of them."""
    rng = Random(5)
    for number in range(100):
        check_draft(draw_event(rng, number))
