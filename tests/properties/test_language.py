"""The filter language, against a reading of it that shares no code with it."""

from __future__ import annotations

import math
from random import Random
from typing import TypeVar

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.matching.language import FilterError, Limits, parse_filter, print_filter
from p2psub.matching.linear import matches
from p2psub.model.content import Event, Filter, Moment, Operator, Predicate, Value
from p2psub.model.ids import EventId, NodeId, Place
from tests.oracles.conditions import (
    Always,
    And,
    Between,
    Compare,
    IsNull,
    Like,
    Node,
    Not,
    Or,
    Scribe,
    Within,
    evaluate,
)
from tests.oracles.instances import exact

T = TypeVar("T")
NODE = NodeId(Place(bytes(20)))
DAY_US = 86_400_000_000
ROOMY = Limits(text_max=10**6, conjunctions_max=100_000, predicates_max=1_000_000)
"""What filters that were not made from text may need."""

# Few values of each type, so that they often meet; and those that are hard to tell apart or to write.
NAMES = st.sampled_from(["topic", "a", "b", "not", "of", "odd name", 'quo"te', "date", "größe.x"])
TEXTS = st.sampled_from(
    ["", "a", "ab", "ba", "aba", "it's", "%", "_", "\\", "a\\b", "1", "é", "日本", "\U0001f600", "A"]
)
INTS = st.sampled_from([-1, 0, 1, 2, 2**53 + 1, -(2**63), 2**64 - 1])
FLOATS = st.sampled_from([-1.0, -0.0, 0.5, 1.0, 2.0**53, 1e300, 5e-324, math.inf, -math.inf])
DATES = st.builds(Moment, st.sampled_from([-DAY_US, 0, 1, DAY_US, 1_767_225_600_000_000]))
SETS = st.frozensets(st.one_of(st.integers(0, 2), st.sampled_from(["", "a", "it's"])), max_size=3)
ORDERED: list[st.SearchStrategy[Value]] = [st.one_of(INTS, FLOATS), TEXTS, DATES]
CONSTANTS: st.SearchStrategy[Value] = st.one_of(*ORDERED, st.booleans(), SETS)
VALUES: st.SearchStrategy[Value] = st.one_of(CONSTANTS, st.just(math.nan))
EVENTS = st.builds(Event, st.just(EventId(NODE, 1, 1)), TEXTS, st.dictionaries(NAMES, VALUES, min_size=2))


def pair(values: st.SearchStrategy[T]) -> st.SearchStrategy[tuple[T, T]]:
    """Two of a kind."""
    return st.tuples(values, values)


PATTERNS = st.lists(st.sampled_from(["%", "_", "a", "b", "ab", "\\%", "\\_", "\\\\"]), max_size=5).map("".join)
LEAVES: st.SearchStrategy[Node] = st.one_of(
    st.builds(Compare, NAMES, st.sampled_from(["=", "<>"]), CONSTANTS),
    st.builds(Compare, NAMES, st.sampled_from(["<", "<=", ">", ">="]), st.one_of(*ORDERED)),
    st.builds(Compare, NAMES, st.sampled_from(["STARTS WITH", "ENDS WITH", "CONTAINS"]), TEXTS),
    st.builds(Compare, NAMES, st.just("CONTAINS"), st.one_of(INTS, FLOATS)),
    st.builds(Compare, NAMES, st.sampled_from(["SUBSET OF", "PROPER SUBSET OF"]), SETS),
    st.one_of(*map(pair, ORDERED)).flatmap(lambda ends: st.builds(Between, NAMES, st.just(ends[0]), st.just(ends[1]))),
    st.builds(Within, NAMES, st.lists(CONSTANTS, min_size=1, max_size=4).map(tuple)),
    st.one_of(INTS, TEXTS).flatmap(
        lambda one: st.builds(Within, NAMES, st.lists(INTS if isinstance(one, int) else TEXTS, min_size=1).map(tuple))
    ),
    st.builds(Like, NAMES, PATTERNS, st.just("\\")),
    st.builds(Like, NAMES, PATTERNS.map(lambda pattern: pattern.replace("\\", "")), st.sampled_from([None, "!"])),
    st.builds(IsNull, NAMES),
    st.builds(Always, st.booleans()),
)
NODES: st.SearchStrategy[Node] = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.builds(Not, parts),
        st.builds(And, st.lists(parts, min_size=2, max_size=3).map(tuple)),
        st.builds(Or, st.lists(parts, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)
RANDOMS = st.randoms(use_true_random=False)


def read(node: Node, random: Random, limits: Limits = ROOMY) -> Filter:
    """The filter of a tree, by way of text."""
    scribe = Scribe(random)
    return parse_filter(scribe.write(node), scribe.params, limits)


@settings(max_examples=800)
@given(NODES, RANDOMS, st.lists(EVENTS, min_size=5, max_size=5))
def test_a_filter_takes_exactly_the_events_for_which_its_text_is_true(
    node: Node, random: Random, events: list[Event]
) -> None:
    """Parsing, negation and normal form change nothing: unknown and false do not match, true does."""
    scribe = Scribe(random)
    text = scribe.write(node)
    wanted = parse_filter(text, scribe.params, ROOMY)
    for event in events:
        assert matches(wanted, event) == (evaluate(node, event) is True), (text, scribe.params, event)


@settings(max_examples=300)
@given(LEAVES, RANDOMS, NAMES, st.lists(VALUES, min_size=8, max_size=8))
def test_a_comparison_and_its_negation_agree_with_the_oracle(
    node: Node, random: Random, name: str, values: list[Value]
) -> None:
    """For a value of any type, a comparison is true, its negation is true, or neither is."""
    name = getattr(node, "name", name)
    wanted, unwanted = read(node, random), read(Not(node), random)
    for value in values:
        event = Event(EventId(NODE, 1, 1), value if isinstance(value, str) else "t", {name: value})
        truth = evaluate(node, event)
        assert (matches(wanted, event), matches(unwanted, event)) == (truth is True, truth is False), (
            print_filter(wanted),
            event,
        )


@settings(max_examples=300)
@given(NODES, RANDOMS)
def test_printing_and_parsing_gives_the_same_filter(node: Node, random: Random) -> None:
    """parse(print(f)) is f, types of constants included, for every filter that a parser made."""
    wanted = read(node, random)
    assert exact(parse_filter(print_filter(wanted), limits=ROOMY)) == exact(wanted)


ANY_CONSTANT: st.SearchStrategy[Value] = st.one_of(
    st.text(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.booleans(),
    st.builds(Moment, st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)),
    st.builds(Moment, st.integers(-(2**63), 2**63)),
    st.frozensets(st.one_of(st.text(), st.integers(-(2**63), 2**64 - 1))),
)


@settings(max_examples=300)
@given(st.text(), ANY_CONSTANT)
def test_every_name_and_constant_can_be_written(name: str, constant: Value) -> None:
    """Whatever can travel as a name or a constant survives printing and parsing, and the wire."""
    wanted = parse_filter(f'"{name.replace(chr(34), chr(34) * 2)}" = :c', {"c": constant})
    again = parse_filter(print_filter(wanted))
    assert exact(again) == exact(wanted)
    assert exact(msgspec.msgpack.decode(msgspec.msgpack.encode(wanted), type=Filter)) == exact(wanted)
    event = Event(EventId(NODE, 1, 1), constant if isinstance(constant, str) else "", {name: constant})
    assert matches(again, event) or name == "topic"


ANY_FILTER = st.builds(
    Filter,
    st.lists(
        st.lists(st.builds(Predicate, NAMES, st.sampled_from(Operator), st.one_of(VALUES, PATTERNS)), max_size=3).map(
            tuple
        ),
        max_size=3,
    ).map(tuple),
)


@settings(max_examples=300)
@given(ANY_FILTER, st.lists(EVENTS, min_size=5, max_size=5))
def test_every_filter_can_be_printed(wanted: Filter, events: list[Event]) -> None:
    """What no text describes exactly (NaN, a number as prefix) is printed as something that takes the same events."""
    again = parse_filter(print_filter(wanted), limits=ROOMY)
    for event in events:
        assert matches(again, event) == matches(wanted, event), (print_filter(wanted), event)


@given(st.lists(LEAVES, min_size=2, max_size=4), RANDOMS, st.sampled_from([And, Or]))
def test_the_order_of_writing_does_not_matter(parts: list[Node], random: Random, join: type[And] | type[Or]) -> None:
    """Equal filters can be shared: what differs in order and repetition alone has one normal form."""
    one = read(join(tuple(parts)), random)
    random.shuffle(parts)
    assert exact(read(join((*parts, parts[0])), random)) == exact(one)


@given(NODES, RANDOMS, st.integers(1, 20), st.integers(1, 40))
def test_limits_hold_for_what_comes_out(node: Node, random: Random, conjunctions_max: int, predicates_max: int) -> None:
    """A filter is within its limits, or refused by the name of the limit."""
    limits = Limits(text_max=10**6, conjunctions_max=conjunctions_max, predicates_max=predicates_max)
    try:
        wanted = read(node, random, limits)
    except FilterError as error:
        refusal = error.message
    else:
        assert len(wanted.conjunctions) <= conjunctions_max
        assert sum(map(len, wanted.conjunctions)) <= predicates_max
        return
    assert "conjunctions_max" in refusal or "predicates_max" in refusal
