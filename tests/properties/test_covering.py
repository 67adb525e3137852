"""Covering, against brute force over values that lie on, between and beyond all constants."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.matching.covering import covers, is_contradiction, meets, scope_of
from p2psub.matching.language import parse_filter
from p2psub.model.content import Event, Filter, Moment, Operator, Predicate, Value
from p2psub.model.ids import EventId, NodeId, Place
from tests.oracles.linear import holds

NODE = NodeId(Place(bytes(20)))
NAMES = st.sampled_from(["topic", "a", "b"])
NUMBERS = st.sampled_from([0, 1, 2, 1.5, -0.0, 2**53, 2**53 + 1, 2.0**53, 2**64 - 1, 1e300, math.inf, -math.inf])
TEXTS = st.sampled_from(["", "a", "aa", "ab", "aba", "b", "a\0", "\U0010ffff", "a\U0010ffff", "é"])
DATES = st.builds(Moment, st.integers(-1, 3))
SETS: st.SearchStrategy[frozenset[int | str]] = st.frozensets(
    st.one_of(st.integers(0, 1), st.sampled_from(["", "a"])), max_size=3
)
LISTS: st.SearchStrategy[frozenset[int | str]] = st.one_of(
    st.frozensets(st.sampled_from([0, 1, 2, 2**53, 2**53 + 1]), max_size=4), st.frozensets(TEXTS, max_size=4), SETS
)
SAMENESS = [Operator.EQUAL, Operator.UNEQUAL]
ORDER = [*SAMENESS, Operator.LESS, Operator.LESS_EQUAL, Operator.GREATER, Operator.GREATER_EQUAL]

EXACT: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(Predicate, NAMES, st.sampled_from(ORDER), st.one_of(NUMBERS, TEXTS, DATES)),
    st.builds(Predicate, NAMES, st.sampled_from(ORDER), NUMBERS),
    st.builds(Predicate, NAMES, st.sampled_from(ORDER), TEXTS),
    st.builds(Predicate, NAMES, st.sampled_from([*SAMENESS, Operator.EXISTS]), st.booleans()),
    st.builds(Predicate, NAMES, st.sampled_from(SAMENESS), SETS),
    st.builds(Predicate, NAMES, st.sampled_from([Operator.IN, Operator.NOT_IN]), LISTS),
    st.builds(Predicate, NAMES, st.sampled_from([Operator.PREFIX, Operator.NOT_PREFIX]), TEXTS),
)
PATTERNS = st.lists(st.sampled_from(["%", "_", "a", "b", "ab"]), max_size=4).map("".join)
ANY: st.SearchStrategy[Predicate] = st.one_of(
    EXACT,
    st.builds(
        Predicate,
        NAMES,
        st.sampled_from([Operator.SUFFIX, Operator.NOT_SUFFIX, Operator.CONTAINS, Operator.NOT_CONTAINS]),
        TEXTS,
    ),
    st.builds(Predicate, NAMES, st.sampled_from([Operator.CONTAINS, Operator.NOT_CONTAINS]), st.integers(0, 1)),
    st.builds(Predicate, NAMES, st.sampled_from([Operator.LIKE, Operator.NOT_LIKE]), PATTERNS),
    st.builds(
        Predicate,
        NAMES,
        st.sampled_from(
            [Operator.SUBSET, Operator.NOT_SUBSET, Operator.PROPER_SUBSET, Operator.NOT_PROPER_SUBSET, Operator.UNEQUAL]
        ),
        SETS,
    ),
    st.builds(Predicate, NAMES, st.sampled_from(Operator), st.one_of(NUMBERS, TEXTS, DATES, SETS, st.just(math.nan))),
)
# Fewer attributes meet more often.
ONE_NAME = st.sampled_from(["a", "a", "topic"])


def about(predicates: st.SearchStrategy[Predicate], names: st.SearchStrategy[str]) -> st.SearchStrategy[Predicate]:
    """The same predicates, of other attributes."""
    return st.builds(lambda one, name: Predicate(name, one.operator, one.constant), predicates, names)


def conjunctions(predicates: st.SearchStrategy[Predicate], most: int) -> st.SearchStrategy[tuple[Predicate, ...]]:
    """Conjunctions, among them the empty one."""
    few = st.lists(predicates, max_size=most).map(tuple)
    return st.one_of(few, st.lists(about(predicates, ONE_NAME), max_size=most).map(tuple))


def witnesses(filters: list[Filter]) -> list[Value | None]:
    """Values on, next to, between and beyond all constants, of every type; None is a missing attribute."""
    constants: list[Value] = []
    for predicate in itertools.chain.from_iterable(
        conjunction for wanted in filters for conjunction in wanted.conjunctions
    ):
        constant = predicate.constant
        constants += list(constant) if isinstance(constant, frozenset) else [constant]
        constants.append(constant)
    numbers = {c for c in constants if isinstance(c, int | float) and not isinstance(c, bool) and not math.isnan(c)}
    texts = {c for c in constants if isinstance(c, str)}
    dates = {c.us for c in constants if isinstance(c, Moment)}
    sets = {c for c in constants if isinstance(c, frozenset)}
    near: set[int | float] = set()
    for number in numbers:
        near |= {number, math.nextafter(number, math.inf), math.nextafter(number, -math.inf)}
        near |= {math.floor(number) + 1, math.ceil(number) - 1} if math.isfinite(number) else {0.0}
    near |= {low / 2 + high / 2 for low in numbers for high in numbers if math.isfinite(low) and math.isfinite(high)}
    spelt = {"", "zz", "\U0010ffff" * 3}
    for text in texts:
        spelt |= {text, text + "\0", text + "b", "b" + text, text[:-1], text + "\U0010ffff" * 2}
        spelt |= {text[:-1] + chr(max(0, ord(text[-1]) - 1)) + "\U0010ffff" * 3} if text else set()
    spelt |= {one + other for one in texts for other in texts if len(texts) < 5}
    gathered: set[frozenset[int | str]] = {frozenset(), frozenset([7])}
    for one in sets:
        gathered |= {one, one | {9}, *(one - {member} for member in one)}
    gathered |= {frozenset([c]) for c in constants if isinstance(c, str) or (type(c) is int)}
    return [
        None,
        math.nan,
        False,
        True,
        *sorted(near),
        -math.inf,
        math.inf,
        *sorted(spelt),
        *(Moment(us + step) for us in sorted(dates) for step in (-1, 0, 1)),
        Moment(99),
        Moment(-99),
        *sorted(gathered, key=repr),
    ]


def event_of(name: str, value: Value | None) -> Event | None:
    """An event in which one attribute has the value; None if a topic cannot have it."""
    if name == "topic":
        return Event(EventId(NODE, 1, 1), value, {}) if isinstance(value, str) else None
    return Event(EventId(NODE, 1, 1), "", {} if value is None else {name: value})


def counterexample(wider: Filter, narrower: Filter) -> dict[str, Value | None] | None:
    """Values of the attributes that the narrower filter takes and the wider one does not."""
    return example(wider, narrower, [False, True])


def example(wider: Filter, narrower: Filter, wanted_of: list[bool]) -> dict[str, Value | None] | None:
    """Values of the attributes that each of the two filters takes, or does not take, as is wanted of it."""
    names = sorted(
        {
            predicate.attribute
            for wanted in (wider, narrower)
            for conjunction in wanted.conjunctions
            for predicate in conjunction
        }
    )
    values = witnesses([wider, narrower])
    # Per attribute, values that satisfy the same predicates are alike.
    classes: list[list[tuple[Value | None, frozenset[int]]]] = []
    predicates = [p for wanted in (wider, narrower) for conjunction in wanted.conjunctions for p in conjunction]
    for name in names:
        alike: dict[frozenset[int], Value | None] = {}
        for value in values:
            event = event_of(name, value)
            if event is not None:
                true = frozenset(n for n, p in enumerate(predicates) if p.attribute == name and holds(p, event))
                alike.setdefault(true, value)
        classes.append([(value, true) for true, value in alike.items()])
    numbers = itertools.count()
    numbered = [
        [[next(numbers) for _ in conjunction] for conjunction in wanted.conjunctions] for wanted in (wider, narrower)
    ]
    for choice in itertools.product(*classes):
        true = frozenset[int]().union(*(part for _, part in choice))
        takes = [any(true.issuperset(conjunction) for conjunction in wanted) for wanted in numbered]
        if takes == wanted_of:
            return dict(zip(names, (value for value, _ in choice), strict=True))
    return None


@settings(max_examples=500)
@given(conjunctions(EXACT, 3), conjunctions(EXACT, 4), st.booleans())
def test_covering_of_conjunctions_is_exact(
    one: tuple[Predicate, ...], other: tuple[Predicate, ...], is_part: bool
) -> None:
    """For =, <>, ranges, IN, NOT IN, prefix, dates, truth values and presence, yes is right and no is right."""
    wider, narrower = Filter((one,)), Filter(((*one, *other),) if is_part else (other,))
    if is_part and other:
        # Where one asks for all that the other asks for and more, the answer is often yes; both ways are of interest.
        wider, narrower = (wider, narrower) if len(one) % 2 else (narrower, wider)
    assert covers(wider, narrower) == (counterexample(wider, narrower) is None)


@settings(max_examples=500)
@given(
    st.lists(conjunctions(ANY, 3), max_size=3).map(tuple),
    st.lists(conjunctions(ANY, 3), max_size=3).map(tuple),
    st.integers(0, 3),
)
def test_a_filter_that_is_said_to_cover_takes_all_that_the_other_takes(
    one: tuple[tuple[Predicate, ...], ...], other: tuple[tuple[Predicate, ...], ...], way: int
) -> None:
    """Whatever the operators, a yes is right."""
    wider, narrower = Filter(one), Filter(other)
    if way == 1 and one and other:
        narrower = Filter(tuple((*conjunction, *one[0]) for conjunction in other))
    if way == 2:
        wider = Filter((*one, *other))
    if covers(wider, narrower):
        assert counterexample(wider, narrower) is None
        assert is_contradiction(narrower) or meets(wider, narrower)
    if is_contradiction(narrower):
        assert counterexample(Filter(()), narrower) is None
        assert not meets(wider, narrower)


@settings(max_examples=500)
@given(conjunctions(EXACT, 3), conjunctions(EXACT, 3))
def test_meeting_of_conjunctions_is_exact(one: tuple[Predicate, ...], other: tuple[Predicate, ...]) -> None:
    """For the operators of which covering is exact, two filters meet exactly if some event satisfies both."""
    left, right = Filter((one,)), Filter((other,))
    assert meets(left, right) == meets(right, left) == (example(left, right, [True, True]) is not None)


@settings(max_examples=500)
@given(st.lists(conjunctions(ANY, 3), max_size=3).map(tuple), st.lists(conjunctions(ANY, 3), max_size=3).map(tuple))
def test_filters_that_are_said_not_to_meet_share_no_event(
    one: tuple[tuple[Predicate, ...], ...], other: tuple[tuple[Predicate, ...], ...]
) -> None:
    """Whatever the operators, a no is right, and the same both ways."""
    left, right = Filter(one), Filter(other)
    assert meets(left, right) == meets(right, left)
    assert meets(left, right) or example(left, right, [True, True]) is None


SPELT = st.sampled_from(["a", "b", "aa", "ab", "aba", "b\U0010ffff", "c"])
STRETCHES = st.builds(
    lambda low, high: [Predicate("a", Operator.GREATER_EQUAL, low), Predicate("a", Operator.LESS, high)], SPELT, SPELT
)
LOOKS = st.builds(
    lambda operator, text: [Predicate("a", operator, text)],
    st.sampled_from([Operator.PREFIX, Operator.CONTAINS, Operator.SUFFIX, Operator.NOT_SUFFIX]),
    SPELT,
)


@settings(max_examples=300)
@given(st.lists(st.one_of(STRETCHES, LOOKS, st.lists(about(ANY, st.just("a")), max_size=2)), max_size=20))
def test_covering_is_an_order(drawn: list[list[Predicate]]) -> None:
    """A filter covers itself and what those cover that it covers; what meets one of these meets the filter."""
    known = [scope for scope in (scope_of(Filter((tuple(one),))) for one in drawn) if scope.conjunctions]
    for one in known:
        assert one.covers(one)
        for middle in [other for other in known if one.covers(other)]:
            assert all(one.covers(other) for other in known if middle.covers(other))
            assert all(one.meets(other) for other in known if middle.meets(other))


@given(conjunctions(EXACT, 4))
def test_contradictions_are_found(conjunction: tuple[Predicate, ...]) -> None:
    """A conjunction of these operators that nothing can satisfy is known for one, and no other."""
    wanted = Filter((conjunction,))
    assert is_contradiction(wanted) == (counterexample(Filter(()), wanted) is None)


@pytest.mark.parametrize(
    ("wider", "narrower"),
    [
        ("", "price > 5"),
        ("price > 5", "price > 6 AND name = 'x'"),
        ("price BETWEEN 1 AND 9", "price BETWEEN 2 AND 3"),
        ("price > 1", "price > 1 AND price < 1"),
        ("a > 9007199254740992", "a >= 9007199254740993"),
        ("a IN (1, 2, 3)", "a IN (1, 3)"),
        ("a NOT IN (1, 2)", "a > 2"),
        ("a STARTS WITH 'quotes/'", "a STARTS WITH 'quotes/A'"),
        ("a STARTS WITH 'q'", "a = 'quotes'"),
        ("a >= 'q' AND a < 'r'", "a STARTS WITH 'q'"),
        ("a STARTS WITH 'q'", "a >= 'q' AND a < 'r'"),
        ("a NOT STARTS WITH 'q'", "a STARTS WITH 'p'"),
        ("a > DATE '2026-01-01'", "a >= TIMESTAMP '2026-01-01T00:00:00.000001Z'"),
        ("a = TRUE", "a <> FALSE"),
        ("a IS NOT NULL", "a < 5"),
        ("topic IS NOT NULL", ""),
        ("b = 1 OR a > 5", "a > 7"),
        ("a ENDS WITH 'b'", "a ENDS WITH 'ab'"),
        ("a CONTAINS 'b'", "a STARTS WITH 'abc'"),
        ("a CONTAINS 'b'", "a >= 'abc' AND a < 'abd'"),
        ("a CONTAINS 'b'", "a = 'abc'"),
        ("a LIKE '%b%'", "a LIKE 'x%abc_'"),
        ("a STARTS WITH 'x'", "a LIKE 'x_y%'"),
        ("a ENDS WITH 'z'", "a LIKE '%_yz'"),
        ("topic NOT CONTAINS 'abc'", "topic NOT CONTAINS 'b'"),
        ("a NOT ENDS WITH 'a'", "a ENDS WITH 'b'"),
        ("tags SUBSET OF {1, 2, 3}", "tags PROPER SUBSET OF {1, 2}"),
        ("tags CONTAINS 1", "tags = {1, 2}"),
        ("tags <> {1}", "tags CONTAINS 2"),
        ("tags NOT CONTAINS 'x'", "tags SUBSET OF {'y'}"),
    ],
)
def test_filters_that_cover(wider: str, narrower: str) -> None:
    """What people would expect to be covered is."""
    assert covers(parse_filter(wider), parse_filter(narrower))


@pytest.mark.parametrize(
    ("wider", "narrower"),
    [
        ("price > 5", ""),
        ("price > 5", "price >= 5"),
        ("a < 5", "a IS NULL"),
        ("a <> 5", "b = 1"),
        ("a = 1", "a = TRUE"),
        ("a > 1 AND b > 1", "a > 2"),
        ("a < 5 OR a > 3", "a <> 9"),  # true of numbers, but no single conjunction covers it
        ("a CONTAINS 'x'", "a CONTAINS 'y'"),
    ],
)
def test_filters_that_are_not_said_to_cover(wider: str, narrower: str) -> None:
    """Neither is what they do not cover, nor what only several conjunctions together would."""
    assert not covers(parse_filter(wider), parse_filter(narrower))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("price > 5", "price <= 5"),
        ("price BETWEEN 1 AND 2", "price BETWEEN 3 AND 4"),
        ("a > 9007199254740992", "a < 9007199254740993"),
        ("topic = 'x'", "topic = 'y'"),
        ("topic = 'x' AND price > 5", "topic = 'y' AND price > 5"),
        ("topic IN ('x', 'y')", "topic IN ('z')"),
        ("a IN (1, 2)", "a IN (3, 4)"),
        ("a IN (1, 2)", "a NOT IN (1, 2, 3)"),
        ("a STARTS WITH 'quotes/'", "a STARTS WITH 'news/'"),
        ("a STARTS WITH 'quotes/'", "a = 'news/x'"),
        ("a > DATE '2026-01-01'", "a < DATE '2026-01-01'"),
        ("a = TRUE", "a = FALSE"),
        ("a = 1", "a = '1'"),
        ("a = 1", "a = TRUE"),
        ("a < 5", "a IS NULL"),
        ("a = {1, 2}", "a SUBSET OF {1}"),
        ("a = 'xyz'", "a CONTAINS 'b'"),
        ("a IN ('xa', 'xb')", "a ENDS WITH 'c'"),
        ("a LIKE 'x%'", "a LIKE 'y%'"),
        ("a = 1 OR a = 2", "a = 3 OR a > 7"),
        ("price > 1 AND price < 1", ""),
        ("topic IS NULL", "topic = 'x'"),
    ],
)
def test_filters_that_do_not_meet(one: str, other: str) -> None:
    """What people would expect to share no event is seen to share none."""
    assert not meets(parse_filter(one), parse_filter(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", ""),
        ("price > 5", "size > 5"),
        ("price > 5", "price < 6"),
        ("a IS NULL", "b = 1"),
        ("a IS NOT NULL", "a <> 5"),
        ("a STARTS WITH 'x'", "a >= 'xa'"),
        ("a ENDS WITH 'x'", "a ENDS WITH 'yx'"),
        ("a ENDS WITH 'x'", "a ENDS WITH 'y'"),  # no text does both, but that is not seen
    ],
)
def test_filters_that_may_meet(one: str, other: str) -> None:
    """What shares an event may meet, and so may what cannot be told."""
    assert meets(parse_filter(one), parse_filter(other))
