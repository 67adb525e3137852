"""Where a conjunction is filed, so that an event meets as few as possible that do not want it: the cost model.

The price of a home is how many rows an event that comes to it must be compared with. In this order:

1. *Hashed*: under the constant of an equality, each member of a short IN, or a prefix, whichever has fewest rows. An
   event looks up its own values, and comes to no other bucket. The price is at most that of the bucket.
2. *Present*: under an axis on which the row has a span, while few rows are. An event with a position there compares.
3. *Bitmaps*: where there are spans and neither of the above is cheap, some words per axis for 64 rows together.
4. *Tried*: under a predicate that must be tried one by one; it is tried once for all rows that are filed under it.
5. *Always*: a conjunction without predicates wants every event.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

from p2psub.matching.buckets import Buckets, PrefixBuckets, TriedBuckets
from p2psub.matching.spans import KINDS
from p2psub.model.content import TOPIC, Operator, Predicate, Value

PREFIX_PRICE: Final = 256
"""What it costs, in rows compared, that every event looks up its beginnings of some lengths."""
MEMBER_PRICE: Final = 128
"""What a further row costs in memory, as rows compared. Both are guesses: an equality comes first unless it is full."""

# Looking a member up in its class costs more than comparing with it.
_EQUAL, _PREFIX = Operator.EQUAL, Operator.PREFIX
_HASHABLE: Final = frozenset([Operator.EQUAL, Operator.IN, Operator.PREFIX])


class Attribute:
    """What is filed under one attribute."""

    __slots__ = ("axes", "equal", "name", "prefixes", "tried")

    def __init__(self, name: str, places: array[int]) -> None:
        self.name = name
        self.equal: dict[type, Buckets] = {}
        """By type of value; int and float share one."""
        self.prefixes = PrefixBuckets(name, places)
        self.tried = TriedBuckets(name, places)
        self.axes = [0] * KINDS
        """By kind; 0 is none."""

    @property
    def is_bare(self) -> bool:
        """Whether nothing refers to the attribute any more."""
        return not (any(self.axes) or self.prefixes or self.tried or any(self.equal.values()))


Hashed = tuple[int, Predicate, tuple[Value, ...]]
"""What it costs to look a row up by a predicate, and the keys under which it is then found."""


class Filing:
    """All attributes that filters name."""

    __slots__ = ("_members_max", "_places", "attributes")

    def __init__(self, places: array[int], members_max: int) -> None:
        self._places = places
        self._members_max = members_max
        self.attributes: dict[str, Attribute] = {}

    def attribute(self, name: str) -> Attribute:
        """The attribute of this name, made if need be."""
        found = self.attributes.get(name)
        if found is None:
            found = self.attributes[name] = Attribute(name, self._places)
        return found

    def tidy(self, name: str) -> None:
        """Forget an attribute that nothing refers to any more."""
        found = self.attributes.get(name)
        if found is not None and found.is_bare:
            del self.attributes[name]

    def hashed(self, conjunction: Sequence[Predicate]) -> Hashed | None:
        """The cheapest hashed home, if there is one."""
        best: Hashed | None = None
        others: list[Predicate] = []
        for predicate in conjunction:
            if predicate.operator in _HASHABLE:
                if predicate.operator is _EQUAL:
                    priced = self._equality_priced(predicate)
                    best = priced if best is None or priced[0] < best[0] else best
                else:
                    others.append(predicate)
        if others and (best is None or best[0] >= MEMBER_PRICE):
            # Only then: they cost more, whatever their size.
            for predicate in others:
                found = self._priced(predicate)
                if found is not None and (best is None or found[0] < best[0]):
                    best = found
        return best

    def _equality_priced(self, predicate: Predicate) -> Hashed:
        # An owner's matcher often holds one topic only, so of two that cost the same the topic is worse.
        constant = predicate.constant
        return self._size(predicate, constant) + (predicate.attribute == TOPIC), predicate, (constant,)

    def _priced(self, predicate: Predicate) -> Hashed | None:
        constant = predicate.constant
        if isinstance(constant, str):
            return self._size(predicate, constant) + PREFIX_PRICE, predicate, (constant,)
        if not isinstance(constant, frozenset) or len(constant) > self._members_max:
            return None
        # Numbers, then texts: an order that does not change between processes.
        keys = tuple(sorted(constant, key=lambda member: (isinstance(member, str), member)))
        return sum(self._size(predicate, key) + MEMBER_PRICE for key in keys), predicate, keys

    def _size(self, predicate: Predicate, key: Value) -> int:
        attribute = self.attributes.get(predicate.attribute)
        if attribute is None:
            return 0
        buckets = attribute.prefixes if predicate.operator is _PREFIX else attribute.equal.get(type(key))
        return buckets.size(key) if buckets else 0

    def buckets(self, predicate: Predicate, key: Value) -> Buckets:
        """The buckets in which a key of a hashed predicate lies."""
        attribute = self.attribute(predicate.attribute)
        if predicate.operator is _PREFIX:
            return attribute.prefixes
        kind = type(key)
        found = attribute.equal.get(kind)
        if found is None:
            found = attribute.equal[kind] = Buckets(attribute.name, self._places)
            if kind in (int, float):
                attribute.equal[int] = attribute.equal[float] = found
        return found


_RARELY_TRUE: Final = (
    Operator.EQUAL,
    Operator.IN,
    Operator.LIKE,
    Operator.SUFFIX,
    Operator.CONTAINS,
    Operator.PREFIX,
    Operator.PROPER_SUBSET,
    Operator.SUBSET,
)
"""A guess at which predicates most events fail, best first."""


def rarest(conjunction: Sequence[Predicate]) -> Predicate:
    """The predicate under which a row is best filed if each must be tried."""
    return min(conjunction, key=lambda predicate: _rareness(predicate.operator))


def _rareness(operator: Operator) -> int:
    if operator is Operator.EXISTS:
        return len(_RARELY_TRUE) + 1
    return _RARELY_TRUE.index(operator) if operator in _RARELY_TRUE else len(_RARELY_TRUE)
