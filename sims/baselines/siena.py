"""SIENA's matcher: subscriptions in a partially ordered set, an event goes down from the roots (Carzaniga et al. 2001).

Every filter stands below all that cover it directly, so it may have several parents. A filter is tried only if one of
its parents took the event; its predicates are tried anew for each filter. Given what ours is given: the same compiled
comparisons, the same test for covering, equal filters shared, and the shortcut that filters which pin an attribute to
different values neither cover each other nor share descendants.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from p2psub.matching.covering import Scope, scope_of
from p2psub.matching.extents import only_value
from p2psub.matching.predicates import CompiledFilter, compile_filter, content_of, satisfies
from p2psub.matching.printer import print_filter
from p2psub.model.content import Event, Filter, Subscription
from p2psub.model.ids import SubscriptionId


@dataclass(eq=False, slots=True)
class _Node:
    text: str
    tests: CompiledFilter
    scope: Scope
    pins: tuple[tuple[str, str | float], ...]
    parents: list[_Node] = field(default_factory=list)
    children: list[_Node] = field(default_factory=list)
    subscribers: list[SubscriptionId] = field(default_factory=list)

    def is_apart(self, other: _Node) -> bool:
        """Whether they pin some attribute to different values."""
        for name, value in self.pins:
            for other_name, other_value in other.pins:
                if name == other_name and value != other_value:
                    return True
        return False


class SienaPoset:
    """A matcher as SIENA's servers have it."""

    def __init__(self) -> None:
        self._roots: list[_Node] = []
        self._nodes: dict[str, _Node] = {}
        self._by_subscription: dict[SubscriptionId, _Node] = {}

    def __len__(self) -> int:
        return len(self._by_subscription)

    def add(self, subscription: Subscription) -> None:
        self.remove(subscription.id)
        text = print_filter(subscription.filter)
        node = self._nodes.get(text)
        if node is None:
            node = self._nodes[text] = _node_of(text, subscription.filter)
            self._link(node)
        node.subscribers.append(subscription.id)
        self._by_subscription[subscription.id] = node

    def remove(self, subscription: SubscriptionId) -> None:
        node = self._by_subscription.pop(subscription, None)
        if node is not None:
            node.subscribers.remove(subscription)
            if not node.subscribers:
                del self._nodes[node.text]
                self._unlink(node)

    def match(self, event: Event) -> list[SubscriptionId]:
        """Who wants the event, in no particular order."""
        content = content_of(event)
        found: list[SubscriptionId] = []
        queue = deque(self._roots)
        seen = set(self._roots)
        while queue:
            node = queue.popleft()
            if satisfies(content, node.tests):
                found += node.subscribers
                for child in node.children:
                    if child not in seen:
                        seen.add(child)
                        queue.append(child)
        return found

    def _link(self, node: _Node) -> None:
        parents = self._lowest_covering(node)
        starts = [child for parent in parents for child in parent.children] if parents else self._roots
        children = self._highest_covered(node, starts)
        for child in children:
            for parent in parents:
                if parent in child.parents:
                    child.parents.remove(parent)
                    parent.children.remove(child)
            if child in self._roots:
                self._roots.remove(child)
            child.parents.append(node)
        for parent in parents:
            parent.children.append(node)
        if not parents:
            self._roots.append(node)
        node.parents, node.children = parents, children

    def _unlink(self, node: _Node) -> None:
        for parent in node.parents:
            parent.children.remove(node)
        if not node.parents:
            self._roots.remove(node)
        for child in node.children:
            child.parents.remove(node)
            # Only those of its parents that no other path leads from.
            for parent in node.parents:
                if not any(_is_above(parent, other) for other in child.parents):
                    child.parents.append(parent)
                    parent.children.append(child)
            if not child.parents:
                self._roots.append(child)

    def _lowest_covering(self, node: _Node) -> list[_Node]:
        def covers(other: _Node) -> bool:
            return not other.is_apart(node) and other.scope.covers(node.scope)

        covering = _reached([root for root in self._roots if covers(root)], covers)
        return [other for other in covering if not any(covers(child) for child in other.children)]

    def _highest_covered(self, node: _Node, starts: Iterable[_Node]) -> list[_Node]:
        """Covered nodes that are below no other covered one. One that is not covered may have children that are."""
        highest: list[_Node] = []
        seen: set[_Node] = set()
        queue = deque(starts)
        while queue:
            other = queue.popleft()
            if other in seen or node.is_apart(other):
                continue
            seen.add(other)
            if node.scope.covers(other.scope):
                highest.append(other)
            else:
                queue += other.children
        return [one for one in highest if not any(other is not one and _is_above(other, one) for other in highest)]


def _reached(starts: list[_Node], passes: Callable[[_Node], bool]) -> Iterable[_Node]:
    seen = set(starts)
    queue = deque(starts)
    while queue:
        node = queue.popleft()
        yield node
        for child in node.children:
            if child not in seen and passes(child):
                seen.add(child)
                queue.append(child)


def _is_above(node: _Node, other: _Node) -> bool:
    """Whether a path leads up from `other` to the node."""
    seen: set[_Node] = set()
    queue = [other]
    while queue:
        at = queue.pop()
        if at is node:
            return True
        if at not in seen:
            seen.add(at)
            queue += at.parents
    return False


def _node_of(text: str, wanted: Filter) -> _Node:
    scope = scope_of(wanted)
    pins: dict[str, str | float] = {}
    if len(scope.conjunctions) == 1:
        for attribute, extent in scope.conjunctions[0].items():
            value = only_value(extent)
            if value is not None:
                pins[attribute] = value
    return _Node(text, compile_filter(wanted), scope, tuple(pins.items()))
