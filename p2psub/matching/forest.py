"""The covering forest (Once 3.1): a tree's node covers its children, and holds the subscriptions with its filter.

It says what is enough to forward (the roots), and whether a filter is covered already. It does not match: the engine
does that faster without it. So it may lag behind: additions wait until the forest is asked, or until there is time.

A subscription is a handle with its own id. Unlike in the paper's experiment, covering never drops, merges or ends one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final, TypeVar

from p2psub.matching.covering import ConjunctionScope, Scope, scope_of
from p2psub.matching.extents import Extent, only_value
from p2psub.matching.printer import print_filter
from p2psub.model.content import Filter
from p2psub.model.ids import SubscriptionId

K = TypeVar("K")
Pin = tuple[str, str | float]
"""An attribute that has one value in every event that a filter takes, and that value."""
FEW: Final = 8
"""So many siblings are simply gone through: an index takes more memory than they do. A guess."""


class Siblings:
    """Nodes below one parent, or all roots; many are found by what they pin and restrict.

    What covers a filter pins and restricts nothing that the filter does not, so most others are out of question.
    """

    __slots__ = ("_index", "_nodes")

    def __init__(self) -> None:
        self._nodes: dict[Node, None] = {}
        self._index: Index | None = None

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, node: Node) -> None:
        self._nodes[node] = None
        if self._index is not None:
            self._index.add(node)
        elif len(self._nodes) > FEW:
            self._index = Index(self._nodes)

    def remove(self, node: Node) -> None:
        del self._nodes[node]
        if self._index is not None:
            self._index.remove(node)

    def covering(self, node: Node) -> Node | None:
        """The first that covers the node."""
        for known in self._nodes if self._index is None else self._index.may_cover(node):
            if known.scope.covers(node.scope):
                return known
        return None

    def covered_by(self, node: Node) -> list[Node]:
        """All that the node covers."""
        others = self._nodes if self._index is None else self._index.may_be_covered(node)
        return [other for other in others if node.scope.covers(other.scope)]


class Index:
    """Where to look for siblings that may cover a node, or be covered by it."""

    __slots__ = ("_by_attributes", "_by_pin", "_loose")

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._by_pin: dict[Pin, dict[Node, None]] = {}
        self._by_attributes: dict[frozenset[str], dict[Node, None]] = {}
        self._loose: dict[frozenset[str], dict[Node, None]] = {}
        """The same for those that pin nothing."""
        for node in nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        for pin in node.pins:
            self._by_pin.setdefault(pin, {})[node] = None
        self._by_attributes.setdefault(node.attributes, {})[node] = None
        if not node.pins:
            self._loose.setdefault(node.attributes, {})[node] = None

    def remove(self, node: Node) -> None:
        for pin in node.pins:
            _drop(self._by_pin, pin, node)
        _drop(self._by_attributes, node.attributes, node)
        if not node.pins:
            _drop(self._loose, node.attributes, node)

    def may_cover(self, node: Node) -> Iterable[Node]:
        for pin in node.pins:
            # A node with two pins comes twice; that is rare, and harmless.
            yield from self._by_pin.get(pin, ())
        for attributes, nodes in self._loose.items():
            if attributes <= node.attributes:
                yield from nodes

    def may_be_covered(self, node: Node) -> Iterable[Node]:
        if node.pins:
            yield from self._by_pin.get(node.pins[0], ())
            return
        for attributes, nodes in self._by_attributes.items():
            if node.attributes <= attributes:
                yield from nodes


def _drop(groups: dict[K, dict[Node, None]], name: K, node: Node) -> None:
    del groups[name][node]
    if not groups[name]:
        del groups[name]


@dataclass(eq=False, slots=True)
class Node:
    """A filter, and who wants exactly that."""

    filter: Filter
    scope: Scope
    pins: tuple[Pin, ...]
    attributes: frozenset[str]
    """Those that every conjunction restricts."""
    parent: Node | None = None
    _children: Siblings | None = None
    subscribers: tuple[SubscriptionId, ...] | dict[SubscriptionId, None] = ()

    @property
    def text(self) -> str:
        """The filter as text."""
        return print_filter(self.filter)

    @property
    def children(self) -> Siblings:
        """Most nodes have none, and need no room for them."""
        return NONE if self._children is None else self._children

    def adopt(self, child: Node) -> None:
        """Hang a node below this one."""
        if self._children is None:
            self._children = Siblings()
        self._children.add(child)
        child.parent = self


NONE: Final = Siblings()


class Forest:
    """Filters ordered by covering. One that contradicts itself takes nothing, and stands apart from all others."""

    __slots__ = ("_by_subscription", "_extents", "_nodes", "_waiting", "roots")

    def __init__(self) -> None:
        self.roots = Siblings()
        self._nodes: dict[bytes, Node] = {}
        """By digest of the printed filter: equal filters share a node."""
        self._extents = Extents()
        self._by_subscription: dict[SubscriptionId, Node] = {}
        self._waiting: dict[SubscriptionId, Filter] = {}

    def __len__(self) -> int:
        return len(self._by_subscription) + len(self._waiting)

    def add(self, subscription: SubscriptionId, wanted: Filter) -> None:
        """Take a subscription up, in place of one with the same id; later."""
        self.remove(subscription)
        self._waiting[subscription] = wanted

    def remove(self, subscription: SubscriptionId) -> None:
        """Take a subscription out; a node without subscriptions leaves its children to its parent."""
        self._waiting.pop(subscription, None)
        node = self._by_subscription.pop(subscription, None)
        if node is not None:
            if isinstance(node.subscribers, dict):
                del node.subscribers[subscription]
            else:
                node.subscribers = ()
            if not node.subscribers:
                self._unlink(node)

    def settle(self, at_most: int | None = None) -> int:
        """Place what waits, or so many of it; how many are left."""
        for subscription in list(islice(self._waiting, at_most)):
            self._place(subscription, self._waiting.pop(subscription))
        if not self._waiting:
            self._waiting = {}  # one that held many keeps their room
        return len(self._waiting)

    def maximal(self) -> list[Filter]:
        """Filters that together take all that subscriptions want, none of them covered by another that was placed."""
        self.settle()
        return [node.filter for node in self.roots]

    def is_covered(self, wanted: Filter) -> bool:
        """Whether some filter held here is known to take all that this one takes."""
        self.settle()
        node = _node_of(wanted, scope_of(wanted))
        return not node.scope.conjunctions or self.roots.covering(node) is not None

    def node_of(self, subscription: SubscriptionId) -> Node:
        """The node of a subscription."""
        self.settle()
        return self._by_subscription[subscription]

    def _place(self, subscription: SubscriptionId, wanted: Filter) -> None:
        digest = _digest_of(wanted)
        node = self._nodes.get(digest)
        if node is None:
            node = self._nodes[digest] = _node_of(wanted, self._extents.take(scope_of(wanted)))
            if node.scope.conjunctions:
                self._link(node, None)
        if isinstance(node.subscribers, dict):
            node.subscribers[subscription] = None
        elif node.subscribers:
            node.subscribers = dict.fromkeys((*node.subscribers, subscription))
        else:
            node.subscribers = (subscription,)
        self._by_subscription[subscription] = node

    def _link(self, node: Node, above: Node | None) -> None:
        """Hang a node below the deepest that covers it, from `above` on, and below it what it covers there."""
        node.parent, siblings = above, self.roots if above is None else above.children
        parent = siblings.covering(node)
        while parent is not None:
            node.parent, siblings = parent, parent.children
            parent = siblings.covering(node)
        for child in siblings.covered_by(node):
            siblings.remove(child)
            node.adopt(child)
        if node.parent is None:
            self.roots.add(node)
        else:
            node.parent.adopt(node)

    def _unlink(self, node: Node) -> None:
        del self._nodes[_digest_of(node.filter)]
        self._extents.drop(node.scope)
        if not node.scope.conjunctions:
            return
        (self.roots if node.parent is None else node.parent.children).remove(node)
        for child in node.children:
            # Some other node there may cover it too.
            self._link(child, node.parent)


class Extents:
    """Extents of all nodes, each held once however many filters have it (Once 3.2)."""

    __slots__ = ("_known", "_others")

    def __init__(self) -> None:
        self._known: dict[Extent, Extent] = {}
        self._others: dict[Extent, int] = {}
        """Uses of an extent beyond the first; most have none."""

    def __len__(self) -> int:
        return len(self._known)

    def take(self, scope: Scope) -> Scope:
        """The same scope, made of extents that are held here."""
        return Scope(
            tuple(
                [
                    {name: self._take(extent) for name, extent in conjunction.items()}
                    for conjunction in scope.conjunctions
                ]
            )
        )

    def drop(self, scope: Scope) -> None:
        """A scope that was taken is not needed any more."""
        for conjunction in scope.conjunctions:
            for extent in conjunction.values():
                others = self._others.pop(extent, 0)
                if not others:
                    del self._known[extent]
                elif others > 1:
                    self._others[extent] = others - 1

    def _take(self, extent: Extent) -> Extent:
        held = self._known.setdefault(extent, extent)
        if held is not extent:
            self._others[held] = self._others.get(held, 0) + 1
        return held


def _digest_of(wanted: Filter) -> bytes:
    return hashlib.blake2b(print_filter(wanted).encode(errors="surrogatepass"), digest_size=15).digest()


def _node_of(wanted: Filter, scope: Scope) -> Node:
    pins = [_pins_of(conjunction) for conjunction in scope.conjunctions]
    common = tuple([pin for pin in pins[0] if all(pin in others for others in pins[1:])]) if pins else ()
    names = (
        [name for name in scope.conjunctions[0] if all(name in conjunction for conjunction in scope.conjunctions[1:])]
        if scope.conjunctions
        else []
    )
    return Node(wanted, scope, _shared_pins(common), _shared_names(tuple(sorted(names))))


def _pins_of(conjunction: ConjunctionScope) -> list[Pin]:
    values = ((attribute, only_value(extent)) for attribute, extent in conjunction.items())
    return [(attribute, value) for attribute, value in values if value is not None]


@lru_cache(maxsize=1 << 10)
def _shared_pins(pins: tuple[Pin, ...]) -> tuple[Pin, ...]:
    """The same pins, held once by many nodes."""
    return pins


@lru_cache(maxsize=1 << 10)
def _shared_names(names: tuple[str, ...]) -> frozenset[str]:
    """A set of names, held once by many nodes: a set takes as much memory as all else of a node."""
    return frozenset(names)
