"""The match index against the oracle, through any interleaving of adding, removing and matching."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.matching.adaptive_matcher import GrowingMatcher
from p2psub.matching.engine import Engine
from p2psub.matching.linear import LinearMatcher
from p2psub.matching.matcher import Wanted
from p2psub.matching.sizes import Sizes
from p2psub.model.content import DeclarationState, Event, Filter, Moment, Operator, Predicate, Subscription, Value
from p2psub.model.ids import ClusterId, EventId, NodeId, Place, SubscriptionId
from tests.oracles.linear import matches

NODE = NodeId(Place(bytes(20)))
SMALL = Sizes(
    linear_max=2,
    hashed_max=2,
    present_max=1,
    members_max=2,
    slots=2,
    hashed_slots=1,
    axes_max=6,
    batch=3,
    block=64,
    segment=256,
    bins=4,
    mapped_axes_max=3,
    asked_min=1,
    moved=3,
)
"""So that a few subscriptions reach every part of the index."""
SIZES = st.sampled_from([SMALL, Sizes()])

NAMES = ["topic", "a", "b", "c"]
INTS = [-1, 0, 1, 2, 3, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, -(2**63), 2**64 - 1, 10**400, -(10**400)]
FLOATS = [-1.0, -0.0, 0.5, 1.0, 2.0**53, 2.0**53 - 1, 1e300, 5e-324, math.inf, -math.inf, math.nan]
TEXTS = ["", "a", "aa", "ab", "ba", "aba", "é", "日本", "\U0001f600", "a\0", "abcdefg", "abcdefh", "abcdef"]
DATES = [Moment(us) for us in (-1, 0, 1, 2, 2**53, 2**53 + 1, 2**63)]
MEMBERS: list[list[int | str]] = [[], [0], [1], [0, 1], ["a"], [0, "a"], ["a", "ab"]]
SETS = [frozenset(members) for members in MEMBERS]
VALUES: list[Value] = [*INTS, *FLOATS, *TEXTS, *DATES, *SETS, True, False]


def predicate_of(random: Random) -> Predicate:
    """Any operator with any constant; more often those that go together."""
    operator = random.choice(list(Operator))
    constant: Value = random.choice(VALUES)
    if random.random() < 0.8:
        match operator:
            case Operator.IN | Operator.NOT_IN:
                members: list[int | str] = [*INTS] if random.random() < 0.5 else [*TEXTS]
                constant = frozenset(random.sample(members, random.randrange(4)))
            case Operator.EXISTS:
                constant = random.random() < 0.5
            case Operator.SUBSET | Operator.NOT_SUBSET | Operator.PROPER_SUBSET | Operator.NOT_PROPER_SUBSET:
                constant = random.choice(SETS)
            case Operator.PREFIX | Operator.NOT_PREFIX | Operator.SUFFIX | Operator.NOT_SUFFIX:
                constant = random.choice(TEXTS)
            case Operator.LIKE | Operator.NOT_LIKE:
                constant = "".join(random.choices(["%", "_", "a", "b"], k=random.randrange(4)))
    return Predicate(random.choice(NAMES), operator, constant)


def filter_of(random: Random) -> Filter:
    """A disjunction of a few short conjunctions; mostly one."""
    conjunctions = random.choice([1, 1, 1, 2, 3, 0])
    return Filter(
        tuple(
            tuple(predicate_of(random) for _ in range(random.choice([0, 1, 1, 2, 2, 3]))) for _ in range(conjunctions)
        )
    )


def range_of(random: Random) -> Filter:
    """Intervals on some of many attributes, as bitmaps hold them."""
    conjunction: list[Predicate] = []
    for name in random.sample(["a", "b", "c", "d", "e"], 2):
        low = random.choice([0, 0.5, 3, 2**53])
        conjunction += [
            Predicate(name, random.choice([Operator.GREATER, Operator.GREATER_EQUAL]), low),
            Predicate(name, random.choice([Operator.LESS, Operator.LESS_EQUAL]), low + random.choice([0, 1, 2.5])),
        ]
    return Filter((tuple(conjunction),))


def event_of(random: Random) -> Event:
    """Some of the attributes, of any types."""
    names = random.sample([*NAMES, "d", "e"], random.randrange(6))
    few: list[Value] = [0, 1, 2, 0.5, 3, 4, 2**53, 2**53 + 1]
    attributes = {name: random.choice(VALUES if random.random() < 0.6 else few) for name in names}
    return Event(EventId(NODE, 1, 1), random.choice(TEXTS), attributes)


def subscription(number: int, wanted: Filter, version: int = 1) -> Subscription:
    """A subscription with this number."""
    return Subscription(SubscriptionId(NODE, 1, number), version, DeclarationState.ACTIVE, ClusterId("c"), wanted)


def check(engine: GrowingMatcher, held: dict[SubscriptionId, Filter], events: list[Event]) -> None:
    """The engine finds who wants each event, in the order of first adding, one by one and all together."""
    expected = [[id_ for id_, wanted in held.items() if matches(wanted, event)] for event in events]
    assert [engine.match(event) for event in events] == expected
    assert engine.match_batch(events) == expected
    indexes = list(range(0, len(events), 2))
    wanted: Wanted = {SubscriptionId(NODE, 1, 0): [99]}
    engine.match_many(events, indexes, wanted)
    one_by_one: Wanted = {SubscriptionId(NODE, 1, 0): [99]}
    for id_ in held:
        found = [index for index in indexes if id_ in expected[index]]
        if found:
            one_by_one.setdefault(id_, []).extend(found)
    assert list(wanted.items()) == list(one_by_one.items())


@settings(max_examples=120)
@given(st.integers(0, 2**32), SIZES, st.sampled_from([filter_of, range_of]))
def test_the_index_finds_what_the_oracle_finds(seed: int, sizes: Sizes, wanted_of: Callable[[Random], Filter]) -> None:
    """All types and operators, missing attributes, NaN, huge numbers, unicode; while subscriptions come and go."""
    random = Random(seed)
    engine = GrowingMatcher(sizes)
    held: dict[SubscriptionId, Filter] = {}
    for _ in range(random.randrange(1, 5)):
        for _ in range(random.randrange(120)):
            number = random.randrange(150)
            # Some filters are wanted by several.
            wanted = wanted_of(random) if random.random() < 0.8 or not held else random.choice(list(held.values()))
            engine.add(subscription(number, wanted))
            held[SubscriptionId(NODE, 1, number)] = wanted
        for _ in range(random.randrange(150)):
            gone = SubscriptionId(NODE, 1, random.randrange(150))
            engine.remove(gone)
            held.pop(gone, None)
        assert len(engine) == len(held)
        check(engine, held, [event_of(random) for _ in range(8)])


@pytest.mark.parametrize("sizes", [SMALL, Sizes(block=64, segment=1024)])
def test_bitmaps_stay_right_while_segments_fill_and_empty(sizes: Sizes) -> None:
    """Blocks are written, segments open and close, sparse ones move away: the answers stay those of the oracle."""
    random = Random(7)
    engine = GrowingMatcher(sizes)
    held: dict[SubscriptionId, Filter] = {}
    segments: set[int] = set()
    for number in range(6_000):
        wanted = range_of(random)
        engine.add(subscription(number, wanted))
        held[SubscriptionId(NODE, 1, number)] = wanted
        # Grow, then keep the size, then shrink.
        for _ in range(0 if number < 1_500 else 1 if number < 4_000 else 3):
            if held:
                gone = random.choice(list(held)[:50] if number % 3 else list(held)[-50:])
                engine.remove(gone)
                del held[gone]
        if engine._engine is not None:
            segments.add(len(engine._engine._conjunctions.bitmaps.segments))
        if number % 500 == 499:
            check(engine, held, [event_of(random) for _ in range(10)])
    assert max(segments) > 1
    assert len(segments) > 2


def test_what_was_removed_leaves_nothing_behind() -> None:
    """Whatever was filed, tried or mapped is forgotten with its last subscription."""
    random = Random(3)
    engine = Engine(SMALL)
    for number in range(1_000):
        engine.add(SubscriptionId(NODE, 1, number), random.choice([filter_of, range_of])(random))
    for number in random.sample(range(1_000), 1_000):
        engine.remove(SubscriptionId(NODE, 1, number))
    conjunctions = engine._conjunctions
    assert (
        len(engine)
        == len(conjunctions.store)
        == len(engine._holdings._by_digest)
        == len(engine._holdings._further)
        == 0
    )
    assert not conjunctions.filing.attributes
    assert not conjunctions.lacking
    assert not conjunctions.always
    assert not len(conjunctions.rows)


def test_equal_filters_share_their_rows() -> None:
    """A thousand subscriptions with one filter cost one conjunction, and each is ended by its own id."""
    engine, linear = Engine(), LinearMatcher()
    wanted = Filter(((Predicate("a", Operator.GREATER, 5),), (Predicate("b", Operator.EQUAL, True),)))
    alike = Filter(((Predicate("a", Operator.GREATER, 5),), (Predicate("b", Operator.EQUAL, 1),)))
    for number in range(1_000):
        linear.add(subscription(number, wanted if number % 10 else alike))
        engine.add(SubscriptionId(NODE, 1, number), wanted if number % 10 else alike)
    assert len(engine._conjunctions.rows) == 4
    for number in range(0, 1_000, 3):
        linear.remove(SubscriptionId(NODE, 1, number))
        engine.remove(SubscriptionId(NODE, 1, number))
    for attributes in ({"a": 6}, {"b": True}, {"b": 1}, {"a": 6, "b": True}):
        event = Event(EventId(NODE, 1, 1), "", dict[str, Value](attributes))
        assert engine.match(event) == linear.match(event)
