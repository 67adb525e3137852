"""Patterns allow what they say and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2psub.errors import ConfigError
from p2psub.model.rights import RIGHTS_BYTES_MAX, Rights, check_rights

TOPICS = st.text(st.characters(codec="utf-8", exclude_characters="*"), min_size=1, max_size=8)
PATTERNS = st.lists(st.one_of(st.just("*"), TOPICS, TOPICS.map(lambda prefix: f"{prefix}*")), max_size=4).map(tuple)


def test_nothing_is_forbidden_unless_somebody_forbids_it() -> None:
    """Rights that nobody narrowed allow every topic, any filter, and to lead."""
    rights = check_rights(Rights())
    assert rights.may_publish("quotes/ACME")
    assert rights.may_subscribe(())
    assert rights.may_subscribe(("quotes/ACME", "news"))
    assert rights.may_lead


def test_no_pattern_allows_nothing() -> None:
    """A node may be made to listen only, or to speak only."""
    rights = check_rights(Rights(publish=(), subscribe=()))
    assert not rights.may_publish("quotes")
    assert not rights.may_subscribe(("quotes",))
    assert not rights.may_subscribe(())


@pytest.mark.parametrize(
    ("pattern", "topic", "allowed"),
    [
        ("quotes", "quotes", True),
        ("quotes", "quotes/ACME", False),
        ("quotes", "Quotes", False),
        ("quotes/*", "quotes/ACME", True),
        ("quotes/*", "quotes/", True),
        ("quotes/*", "quotes", False),
        ("quotes/*", "my/quotes/ACME", False),
        ("*", "", True),
    ],
)
def test_a_pattern_is_a_topic_or_a_prefix(pattern: str, topic: str, allowed: bool) -> None:
    """Exactly the topic, or everything that begins like it; the same for both rights."""
    assert Rights(publish=(pattern,), subscribe=()).may_publish(topic) is allowed
    assert Rights(publish=(), subscribe=(pattern,)).may_subscribe((topic,)) is allowed


def test_a_filter_without_topic_needs_every_topic() -> None:
    """Prefixes, however many, are not all topics."""
    assert not Rights(subscribe=("a*", "b*")).may_subscribe(())
    assert Rights(subscribe=("a*", "*")).may_subscribe(())


@given(PATTERNS, st.lists(TOPICS, min_size=1, max_size=3))
def test_every_topic_of_a_filter_needs_a_right(patterns: tuple[str, ...], topics: list[str]) -> None:
    """A filter is as allowed as its least allowed topic, by one pattern or by several."""
    rights = Rights(subscribe=patterns)
    assert rights.may_subscribe(tuple(topics)) == all(rights.may_subscribe((topic,)) for topic in topics)


@given(PATTERNS, PATTERNS, TOPICS)
def test_another_pattern_takes_no_right_away(patterns: tuple[str, ...], more: tuple[str, ...], topic: str) -> None:
    """Rights unite: what either list allows, both together allow, and nothing else."""
    either = Rights(publish=patterns).may_publish(topic) or Rights(publish=more).may_publish(topic)
    assert Rights(publish=patterns + more).may_publish(topic) == either


@pytest.mark.parametrize(
    ("pattern", "advice"),
    [
        ("", "empty"),
        ("**", "before its end"),
        ("quotes/*/last", "before its end"),
        ("*quotes", "before its end"),
        ("quotes\n", "cannot be seen"),
        ("quotes\udcff", "cannot be seen"),
    ],
)
def test_what_is_no_pattern_is_refused_with_advice(pattern: str, advice: str) -> None:
    """The error names the list it is in and says what is wrong."""
    with pytest.raises(ConfigError, match=rf"^rights\.publish: .*{advice}"):
        check_rights(Rights(publish=("fine", pattern)))
    with pytest.raises(ConfigError, match=rf"^rights\.subscribe: .*{advice}"):
        check_rights(Rights(subscribe=("fine", pattern)))


def test_rights_that_fit_into_no_certificate_are_refused() -> None:
    """Whoever lists topics one by one is told of prefixes."""
    with pytest.raises(ConfigError, match="use prefixes"):
        check_rights(Rights(publish=tuple(f"topic/{n}" for n in range(RIGHTS_BYTES_MAX // 8))))
