"""Who takes part in a soak, and which numbers make sense."""

from __future__ import annotations

import pytest

from p2psub.errors import ConfigError
from p2psub.matching.language import parse_filter
from p2psub.matching.linear import matches
from p2psub.model.content import Event
from p2psub.model.ids import ID_BYTES, EventId, NodeId, Place
from p2psub.soak.plan import MEMBERS, PUBLISHERS, SPARED, SUBSCRIBERS, TOPICS, WISHES, SoakPlan

ANY_ID = EventId(NodeId(Place(bytes(ID_BYTES))), 0, 0)


def test_each_wish_takes_the_topics_that_it_says() -> None:
    """By the plainest matcher: the books rely on it."""
    for wish in WISHES:
        wanted = parse_filter(wish.filter)
        assert [topic for topic in TOPICS if matches(wanted, Event(ANY_ID, topic, {}))] == list(wish.topics)


def test_every_topic_is_wanted_and_both_clusters_want_some() -> None:
    """So no event is without a subscription."""
    assert {topic for wish in WISHES for topic in wish.topics} == set(TOPICS)
    assert {wish.subscriber for wish in WISHES} == set(SUBSCRIBERS)
    assert {name.partition("-")[0] for name in SUBSCRIBERS} == set(MEMBERS)


def test_who_publishes_or_subscribes_is_spared_and_does_not_lead() -> None:
    """A super-node is always a peer that may be killed."""
    seats = {seat.name: seat for seat in SoakPlan().seats}
    assert {*PUBLISHERS, *SUBSCRIBERS} == set(SPARED)
    assert {name for name, seat in seats.items() if not seat.may_lead} == set(SPARED)
    assert {cluster: sum(seat.cluster == cluster for seat in seats.values()) for cluster in MEMBERS} == MEMBERS


@pytest.mark.parametrize(
    ("field", "plan"),
    [
        ("rounds", {"rounds": 0}),
        ("rate_per_s", {"rate_per_s": 0.0}),
        ("patience_s", {"patience_s": float("inf")}),
        ("seconds_per_round", {"seconds_per_round": 16.0}),
        ("seconds_per_round", {"seconds_per_round": 1.0}),
    ],
)
def test_numbers_that_make_no_sense_are_told(field: str, plan: dict[str, float]) -> None:
    """By the name of the option."""
    with pytest.raises(ConfigError) as caught:
        SoakPlan(**plan)  # type: ignore[arg-type]
    assert caught.value.field == field
