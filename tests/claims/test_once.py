"""Sentences of the paper Once, each as a claim about our code."""

from __future__ import annotations

from collections import Counter
from random import Random

from p2psub.matching.engine import Engine
from p2psub.matching.forest import Forest
from p2psub.matching.language import parse_filter
from p2psub.matching.linear import matches
from p2psub.model.content import Event
from p2psub.model.ids import EventId, NodeId, Place, SubscriptionId
from sims.experiments.matching import MatchingReading, interleaved_plan, pure_plan
from sims.workloads.once import TREE_SIZE

NODE = NodeId(Place(bytes(20)))


def test_a_predicate_is_held_once_and_tried_at_most_once_per_event() -> None:
    """Once 3.2: however many subscriptions have a predicate, an event meets it once."""
    engine = Engine()
    for number in range(500):
        text = f"name LIKE '%thinkpad%{number % 3}' AND size = {number % 5} AND price > {number}"
        engine.add(SubscriptionId(NODE, 1, number), parse_filter(text))
    store = engine._conjunctions.store
    assert len(store) == 3
    tried: Counter[int] = Counter()
    for number, (attribute, kinds, comparison, constant) in enumerate(store._tests):

        def counted(value: object, constant: object, number: int = number, comparison=comparison) -> bool:  # type: ignore[no-untyped-def]
            tried[number] += 1
            return bool(comparison(value, constant))

        store._tests[number] = attribute, kinds, counted, constant
    found = engine.match(Event(EventId(NODE, 1, 1), "", {"name": "a thinkpad 1", "size": 2, "price": 450}))
    assert len(found) > 20
    assert set(tried.values()) == {1}


def test_what_a_node_takes_its_ancestors_take() -> None:
    """Once 3.1: if a node matches an event, then so do all its ancestors."""
    plan = pure_plan(3, 200, 60)
    forest = Forest()
    for subscription in plan.subscriptions:
        forest.add(subscription.id, subscription.filter)
    [events] = [step for step in plan.steps if isinstance(step, list)]
    for event in events:
        for subscription in plan.subscriptions:
            node = forest.node_of(subscription.id)
            if node.parent is not None and matches(node.filter, event):
                assert matches(node.parent.filter, event)


def test_the_workload_is_the_paper_s() -> None:
    """Once 4: 2 to 5 predicates with price and category among them; trees of 100; half of the events match."""
    plan = pure_plan(1, 4 * TREE_SIZE, 200, MatchingReading(is_connected=True))
    forest = Forest()
    for subscription in plan.subscriptions:
        attributes = {predicate.attribute for predicate in subscription.filter.conjunctions[0]}
        assert {"price", "category"} <= attributes
        assert 2 <= len(attributes) <= 5
        forest.add(subscription.id, subscription.filter)
    forest.settle()
    categories = {subscription.filter.conjunctions[0][0].constant for subscription in plan.subscriptions}
    assert len(forest.roots) == len(categories)
    [events] = [step for step in plan.steps if isinstance(step, list)]
    wanted = [any(matches(subscription.filter, event) for subscription in plan.subscriptions) for event in events]
    assert sum(wanted) == len(events) // 2


def test_interleaving_keeps_the_number_of_subscriptions() -> None:
    """Once 4: as many unsubscriptions as subscriptions, then a hundred times as many events."""
    plan = interleaved_plan(Random(1).randrange(100), 100, 5_000)
    assert plan.operations == 5_000
    changes = [step for step in plan.steps if not isinstance(step, list)]
    bursts = [len(step) for step in plan.steps if isinstance(step, list)]
    assert all(burst % 1_000 == 0 for burst in bursts[:-1])
    assert plan.events > 20 * len(changes)
