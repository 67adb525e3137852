"""A matcher is small while it holds little, and the same to its owner afterwards."""

from __future__ import annotations

import subprocess
import sys

from p2psub.matching.adaptive_matcher import GrowingMatcher
from p2psub.matching.linear import LinearMatcher
from p2psub.matching.sizes import DEFAULTS
from p2psub.model.content import DeclarationState, Event, Filter, Operator, Predicate, Subscription
from p2psub.model.ids import ClusterId, EventId, NodeId, Place, SubscriptionId

NODE = NodeId(Place(bytes(20)))


def subscription(number: int) -> Subscription:
    """Wants events whose `a` is its number, or whose `b` is above it."""
    wanted = Filter(((Predicate("a", Operator.EQUAL, number % 50),), (Predicate("b", Operator.GREATER, number),)))
    return Subscription(SubscriptionId(NODE, 1, number), 1, DeclarationState.ACTIVE, ClusterId("c"), wanted)


def test_growing_changes_nothing_for_the_owner() -> None:
    """Before, while and after a matcher grows, and when it is emptied, it answers as the linear one does."""
    growing, linear = GrowingMatcher(), LinearMatcher()
    events = [Event(EventId(NODE, 1, n), "t", {"a": n, "b": 3 * n}) for n in range(0, 60, 7)]
    for number in range(2 * DEFAULTS.linear_max):
        for matcher in (growing, linear):
            matcher.add(subscription(number))
            if number % 5 == 0:
                matcher.remove(SubscriptionId(NODE, 1, number // 2))
        assert len(growing) == len(linear)
        if number % 20 == 0:
            assert growing.match_batch(events) == linear.match_batch(events)
    for number in range(2 * DEFAULTS.linear_max):
        growing.remove(SubscriptionId(NODE, 1, number))
    assert len(growing) == 0
    assert growing.match_batch(events) == [[] for _ in events]


def test_numpy_is_loaded_by_those_who_need_it() -> None:
    """A peer whose topics have few subscriptions does not pay for numpy; one that grows does. Neither loads scipy."""
    script = f"""
import sys
import p2psub.runtime.host
from p2psub.matching.adaptive_matcher import GrowingMatcher
from tests.unit.matching.test_adaptive_matcher import subscription
matcher = GrowingMatcher()
for number in range({DEFAULTS.linear_max}):
    matcher.add(subscription(number))
assert "numpy" not in sys.modules
matcher.add(subscription({DEFAULTS.linear_max}))
assert "numpy" in sys.modules
assert not {{"scipy", "pyspark", "pyarrow", "pandas", "duckdb"}} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
