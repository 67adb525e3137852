"""Which filter covers which: takes every event that the other takes (RacsCBPS 2.1, definition 5); and which may meet.

Exact for conjunctions of =, <>, ranges, IN, NOT IN, STARTS WITH and their negations, over every type, and of IS NULL:
attributes are independent, so one conjunction covers another exactly if it does so attribute by attribute. Sound, but
not complete, for what looks into texts and sets (ENDS WITH, CONTAINS, LIKE, SUBSET OF) and for disjunctions: a yes is
always right, a no may be for want of insight. A disjunction is covered where each of its conjunctions is, by a single
one. Covering is transitive all the same, and nothing meets what a filter covers without meeting the filter.
"""

from __future__ import annotations

from dataclasses import dataclass

from p2psub.matching.extents import ANY, ANY_TOPIC, Extent, extent_of, holds, overlaps
from p2psub.model.content import TOPIC, Filter, Predicate

ConjunctionScope = dict[str, Extent]
"""Of a conjunction, the extent of each attribute that it restricts."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A filter made ready for comparison; conjunctions that nothing can satisfy are left out."""

    conjunctions: tuple[ConjunctionScope, ...]

    def covers(self, other: Scope) -> bool:
        """Whether every event that the other takes is taken."""
        return all(
            any(_covers_conjunction(ours, theirs) for ours in self.conjunctions) for theirs in other.conjunctions
        )

    def meets(self, other: Scope) -> bool:
        """Whether some event may satisfy both. No is sure, and right wherever covering is exact."""
        return any(_meets_conjunction(ours, theirs) for ours in self.conjunctions for theirs in other.conjunctions)


def scope_of(wanted: Filter) -> Scope:
    """The scope of a filter."""
    scopes = (_conjunction_scope(conjunction) for conjunction in wanted.conjunctions)
    return Scope(tuple(scope for scope in scopes if scope is not None))


def covers(wider: Filter, narrower: Filter) -> bool:
    """Whether `wider` takes every event that `narrower` takes. Yes is sure; see above for no."""
    return scope_of(wider).covers(scope_of(narrower))


def meets(one: Filter, other: Filter) -> bool:
    """Whether some event may satisfy both. No is sure; see above for yes."""
    return scope_of(one).meets(scope_of(other))


def is_contradiction(wanted: Filter) -> bool:
    """Whether surely no event satisfies the filter."""
    return not scope_of(wanted).conjunctions


def _conjunction_scope(conjunction: tuple[Predicate, ...]) -> ConjunctionScope | None:
    """None if the conjunction contradicts itself."""
    by_attribute: dict[str, list[Predicate]] = {}
    for predicate in conjunction:
        by_attribute.setdefault(predicate.attribute, []).append(predicate)
    scope = {}
    for attribute, predicates in by_attribute.items():
        extent = extent_of(attribute, predicates)
        if extent.is_empty:
            return None
        if extent != _unrestricted(attribute):
            scope[attribute] = extent
    return scope


def _covers_conjunction(wider: ConjunctionScope, narrower: ConjunctionScope) -> bool:
    for attribute, extent in wider.items():
        if not holds(extent, narrower.get(attribute) or _unrestricted(attribute)):
            return False
    return True


def _meets_conjunction(one: ConjunctionScope, other: ConjunctionScope) -> bool:
    # Attributes are independent: an attribute that one of them leaves open keeps no event from both.
    return all(overlaps(extent, other[attribute]) for attribute, extent in one.items() if attribute in other)


def _unrestricted(attribute: str) -> Extent:
    return ANY_TOPIC if attribute == TOPIC else ANY
