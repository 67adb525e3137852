"""The covering forest, through any interleaving of adding and removing (Once 3.1)."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.matching.covering import covers, is_contradiction
from p2psub.matching.forest import Forest, Node
from p2psub.matching.language import parse_filter
from p2psub.matching.linear import matches
from p2psub.model.content import Filter, Operator, Predicate, Value
from p2psub.model.ids import NodeId, Place, SubscriptionId
from tests.properties.test_engine import event_of

NODE = NodeId(Place(bytes(20)))


def id_of(number: int) -> SubscriptionId:
    """A subscription's id."""
    return SubscriptionId(NODE, 1, number)


def filter_of(random: Random) -> Filter:
    """Filters that often cover one another."""
    conjunctions = []
    for _ in range(random.choice([1, 1, 1, 2])):
        conjunction = []
        for name in random.sample(["a", "b", "topic"], random.randrange(3)):
            operator = random.choice([Operator.EQUAL, Operator.LESS, Operator.GREATER, Operator.PREFIX, Operator.IN])
            number, text = random.randrange(4), random.choice(["a", "ab", "abc"])
            constant: Value = number if operator in (Operator.LESS, Operator.GREATER) else text
            if operator is Operator.EQUAL and random.random() < 0.5:
                constant = number
            if operator is Operator.IN:
                constant = frozenset(random.sample(range(4), 2))
            conjunction.append(Predicate(name, operator, constant))
        conjunctions.append(tuple(conjunction))
    return Filter(tuple(conjunctions))


def walked(forest: Forest) -> list[Node]:
    """All nodes, each after its parent."""
    nodes = list(forest.roots)
    for node in nodes:
        assert all(child.parent is node for child in node.children)
        nodes += node.children
    return nodes


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_parents_cover_and_nothing_is_lost(seed: int) -> None:
    """Every node is covered by its parent, every subscription stands at its own filter, no root covers another."""
    random = Random(seed)
    forest = Forest()
    held: dict[SubscriptionId, Filter] = {}
    for _ in range(random.randrange(60)):
        id_ = id_of(random.randrange(30))
        if random.random() < 0.3:
            forest.remove(id_)
            held.pop(id_, None)
        else:
            held[id_] = filter_of(random)
            forest.add(id_, held[id_])
        if random.random() < 0.3:
            forest.settle(random.randrange(4))
    assert len(forest) == len(held)
    roots = forest.maximal()
    nodes = walked(forest)
    placed = {id_: node.filter for node in nodes for id_ in node.subscribers}
    assert placed == {id_: wanted for id_, wanted in held.items() if not is_contradiction(wanted)}
    assert all(node.subscribers for node in nodes)
    for node in nodes:
        assert forest.is_covered(node.filter)
        assert node.parent is None or covers(node.parent.filter, node.filter)
    for one in roots:
        for other in roots:
            # Two that take the same events, but are written otherwise, may stand side by side or one below the other.
            assert one is other or not covers(one, other) or covers(other, one)
    # What the roots take is what anybody takes.
    for event in [event_of(random) for _ in range(5)]:
        wanted = any(matches(filter_, event) for filter_ in held.values())
        assert any(matches(root, event) for root in roots) == wanted


def test_the_tree_of_the_paper() -> None:
    """Insert between parent and children; share equal filters; leave children to their grandparent."""
    forest = Forest()
    texts = ["price > 1", "price > 5 AND name = 'x'", "price > 9 AND name = 'x'", "price > 3", "price > 3", "size = 1"]
    for number, text in enumerate(texts):
        forest.add(id_of(number), parse_filter(text))
    wide, narrow, narrowest = (forest.node_of(id_of(number)) for number in (0, 1, 2))
    middle = forest.node_of(id_of(3))
    assert [root.text for root in forest.roots] == ["price > 1", "size = 1"]
    assert narrowest.parent is narrow
    assert narrow.parent is middle
    assert middle.parent is wide
    assert list(middle.subscribers) == [id_of(3), id_of(4)]
    forest.remove(id_of(3))
    assert narrow.parent is middle
    forest.remove(id_of(4))
    assert narrow.parent is wide
    forest.remove(id_of(0))
    assert [root.text for root in forest.roots] == ["size = 1", "name = 'x' AND price > 5"]
    assert len(forest) == 3


def test_additions_wait() -> None:
    """Adding costs nothing until somebody asks."""
    forest = Forest()
    for number in range(10):
        forest.add(id_of(number), parse_filter(f"a = {number}"))
    assert not len(forest.roots)
    assert forest.settle(3) == 7
    assert len(forest.roots) == 3
    assert len(forest.maximal()) == 10


def test_what_was_removed_leaves_nothing_behind() -> None:
    """Nodes and extents go with their last subscription."""
    random, forest = Random(5), Forest()
    for number in range(200):
        forest.add(id_of(number), filter_of(random))
    forest.settle()
    assert len(forest._extents) < 100
    for number in random.sample(range(200), 200):
        forest.remove(id_of(number))
    assert len(forest) == len(forest.roots) == len(forest._extents) == len(forest._nodes) == 0
    assert not forest._extents._others
