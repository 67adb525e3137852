"""The index by topics: what may meet what, as far as topics can tell."""

from __future__ import annotations

from p2psub.admission.topic_index import TopicIndex


def test_near_are_those_that_pin_one_of_the_topics_or_none() -> None:
    """Who pins none is near everybody, and everybody is near to it."""
    index: TopicIndex[str] = TopicIndex()
    for member, topics in (("x", ("x",)), ("xy", ("x", "y")), ("z", ("z",)), ("any", ())):
        index.enter(member, topics)
    assert set(index.near(("x",))) == {"x", "xy", "any"}
    assert set(index.near(("y", "z"))) == {"xy", "z", "any"}
    assert set(index.near(())) == set(index) == {"x", "xy", "z", "any"}
    assert set(index.near(("w",))) == {"any"}


def test_what_was_removed_leaves_no_topic_behind() -> None:
    """Nobody is near it any more."""
    index: TopicIndex[str] = TopicIndex()
    index.enter("xy", ("x", "y"))
    index.enter("any", ())
    index.remove("xy", ("x", "y"))
    assert list(index.near(("x",))) == ["any"]
    index.remove("any", ())
    assert (list(index), index._by_topic) == ([], {})
