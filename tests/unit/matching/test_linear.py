"""The matcher finds exactly what the plain reading of MTEP 1.1 finds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.matching.linear import LinearMatcher, matches
from p2psub.matching.matcher import Matcher
from p2psub.model.content import DeclarationState, Event, Filter, Moment, Operator, Predicate, Subscription, Value
from p2psub.model.ids import ClusterId, EventId, NodeId, Place, SubscriptionId
from tests.oracles import linear as oracle

NODE = NodeId(Place(bytes(20)))
NAMES = ["topic", "a", "b", "c"]

# Few values of each type, so that they often meet, and those on which types differ: 1, 1.0, True, "1".
TEXTS = st.sampled_from(["", "1", "a", "ab", "b", "ba", "bab", "é", "_%", "%b"])
INTS = st.sampled_from([-1, 0, 1, 2, 2**53 + 1, -(2**63)])
FLOATS = st.sampled_from([-1.0, -0.0, 0.5, 1.0, 2.0**53, math.inf, -math.inf, math.nan])
VALUES: st.SearchStrategy[Value] = st.one_of(
    st.booleans(),
    INTS,
    FLOATS,
    TEXTS,
    st.builds(Moment, st.integers(0, 3)),
    st.frozensets(st.one_of(st.integers(0, 2), TEXTS), max_size=3),
)
PREDICATES = st.builds(Predicate, st.sampled_from(NAMES), st.sampled_from(Operator), VALUES)
FILTERS = st.builds(Filter, st.lists(st.lists(PREDICATES, max_size=3).map(tuple), max_size=3).map(tuple))
EVENTS = st.builds(
    Event,
    st.builds(EventId, st.just(NODE), st.just(1), st.integers(0, 9)),
    TEXTS,
    st.dictionaries(st.sampled_from(NAMES), VALUES),
)
SETS: list[frozenset[int | str]] = [
    frozenset(),
    frozenset([1]),
    frozenset([1, 2]),
    frozenset(["a"]),
    frozenset([1, "a"]),
    frozenset(["", "ab"]),
]
NUMBERS: list[Value] = [0, 1, 2, -1, 2**53, 2**53 + 1, 0.0, -0.0, 1.0, 1.5, 2.0**53, math.inf, -math.inf, math.nan]
EVERY_VALUE: list[Value] = [
    *NUMBERS,
    *SETS,
    True,
    False,
    "",
    "a",
    "ab",
    "abab",
    "1",
    "True",
    "a%",
    "%b_b",
    Moment(0),
    Moment(1),
]


def event(topic: str = "t", /, **attributes: Value) -> Event:
    """An event with these attributes."""
    return Event(EventId(NODE, 1, 1), topic, attributes)


def want(*predicates: tuple[str, Operator, Value]) -> Filter:
    """A filter of one conjunction."""
    return Filter((tuple(Predicate(*predicate) for predicate in predicates),))


def subscription(n: int, wanted: Filter, version: int = 1) -> Subscription:
    """A subscription number `n`."""
    return Subscription(SubscriptionId(NODE, 1, n), version, DeclarationState.ACTIVE, ClusterId("c"), wanted)


@pytest.mark.parametrize("operator", Operator)
def test_every_operator_on_every_pair_of_types(operator: Operator) -> None:
    """For each operator, value and constant, one predicate says what the oracle says."""
    for value in EVERY_VALUE:
        for constant in EVERY_VALUE:
            wanted, published = want(("a", operator, constant)), event(a=value)
            assert matches(wanted, published) == oracle.matches(wanted, published), (value, operator, constant)


@settings(max_examples=1_000)
@given(FILTERS, EVENTS)
def test_whole_filters_agree_with_the_oracle(wanted: Filter, published: Event) -> None:
    """Disjunctions of conjunctions over present and missing attributes mean what the oracle says."""
    assert matches(wanted, published) == oracle.matches(wanted, published)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), FILTERS), max_size=12), EVENTS)
def test_matcher_agrees_with_a_list(steps: list[tuple[bool, int, Filter]], published: Event) -> None:
    """After any adding, replacing and removing, the matches are those of the subscriptions left, in their order."""
    matcher: Matcher = LinearMatcher()
    left: dict[SubscriptionId, Filter] = {}
    for adds, n, wanted in steps:
        record = subscription(n, wanted)
        if adds:
            matcher.add(record)
            left[record.id] = wanted
        else:
            matcher.remove(record.id)
            left.pop(record.id, None)
    assert len(matcher) == len(left)
    assert matcher.match(published) == [name for name, wanted in left.items() if oracle.matches(wanted, published)]


@settings(max_examples=200)
@given(st.lists(FILTERS, max_size=5), st.lists(EVENTS, min_size=1, max_size=6), st.data())
def test_many_events_are_matched_as_one_by_one(wants: list[Filter], events: list[Event], data: st.DataObject) -> None:
    """Only those at the given indexes; who wants none is not named, and what was found before stays."""
    matcher: Matcher = LinearMatcher()
    records = [subscription(n, wanted) for n, wanted in enumerate(wants)]
    for record in records:
        matcher.add(record)
    indexes = data.draw(st.lists(st.integers(0, len(events) - 1), unique=True))
    wanted = {subscription(99, Filter()).id: [7]} | {record.id: [9] for record in records[:1]}
    expected = {name: list(found) for name, found in wanted.items()}
    for index in indexes:
        for name in matcher.match(events[index]):
            expected.setdefault(name, []).append(index)
    matcher.match_many(events, indexes, wanted)
    assert wanted == expected


@pytest.mark.parametrize(
    ("value", "operator", "constant", "expected"),
    [
        (1, Operator.EQUAL, 1.0, True),
        (2**53 + 1, Operator.EQUAL, 2.0**53, False),
        (True, Operator.EQUAL, 1, False),
        (True, Operator.LESS_EQUAL, True, False),
        (math.nan, Operator.UNEQUAL, 1, False),
        (1, Operator.UNEQUAL, math.nan, False),
        ("1", Operator.UNEQUAL, 1, False),
        (Moment(5), Operator.GREATER, Moment(4), True),
        (Moment(5), Operator.GREATER, 4, False),
        (1, Operator.IN, frozenset([1, 2]), True),
        (True, Operator.IN, frozenset([1, 2]), False),
        (frozenset([1]), Operator.IN, frozenset([1]), False),
        (frozenset([1]), Operator.SUBSET, frozenset([1]), True),
        (frozenset([1]), Operator.PROPER_SUBSET, frozenset([1]), False),
        (frozenset([1]), Operator.PROPER_SUBSET, frozenset([1, 2]), True),
        (frozenset([1, "a"]), Operator.CONTAINS, "a", True),
        ("abc", Operator.CONTAINS, "bc", True),
        ("abc", Operator.PREFIX, "ab", True),
        ("abc", Operator.SUFFIX, "", True),
    ],
)
def test_readings_of_the_operators(value: Value, operator: Operator, constant: Value, expected: bool) -> None:
    """The cases in which another reading of MTEP 1.1 would differ, spelt out."""
    assert matches(want(("a", operator, constant)), event(a=value)) is expected


def test_the_topic_is_the_events_topic() -> None:
    """An attribute that calls itself topic does not hide the topic."""
    wanted = want(("topic", Operator.EQUAL, "t"))
    assert matches(wanted, event("t", topic="x"))
    assert not matches(wanted, event("x", topic="t"))


def test_the_empty_conjunction_wants_all_and_no_term_wants_none() -> None:
    """Truth is the empty conjunction, falsehood the empty disjunction."""
    assert matches(Filter(), event())
    assert not matches(Filter(()), event())


def test_adding_again_replaces_and_keeps_the_place() -> None:
    """A newer record of one subscription stands in place of the older."""
    matcher = LinearMatcher()
    for n in (1, 2):
        matcher.add(subscription(n, Filter()))
    matcher.add(subscription(1, want(("a", Operator.EQUAL, 1)), version=2))
    assert [found.sequence for found in matcher.match(event(a=1))] == [1, 2]
    assert [found.sequence for found in matcher.match(event(a=2))] == [2]
