"""Which filter covers which: takes every event that the other takes (RacsCBPS 2.1, definition 5).

Exact for conjunctions of =, <>, ranges, IN, NOT IN, STARTS WITH and their negations, over every type, and of IS NULL:
attributes are independent, so one conjunction covers another exactly if it does so attribute by attribute. Sound, but
not complete, for what looks into texts and sets (ENDS WITH, CONTAINS, LIKE, SUBSET OF) and for disjunctions: a yes is
always right, a no may be for want of insight. A disjunction is covered where each of its terms is, by one single term.
"""

from __future__ import annotations

from dataclasses import dataclass

from p2psub.matching.extents import ANY, ANY_TOPIC, Extent, extent_of, holds
from p2psub.model.content import TOPIC, Filter, Predicate

TermScope = dict[str, Extent]
"""Of a conjunction, the extent of each attribute that it restricts."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A filter made ready for comparison; terms that nothing can satisfy are left out."""

    terms: tuple[TermScope, ...]

    def covers(self, other: Scope) -> bool:
        """Whether every event that the other takes is taken."""
        return all(any(_covers_term(ours, theirs) for ours in self.terms) for theirs in other.terms)


def scope_of(wanted: Filter) -> Scope:
    """The scope of a filter."""
    scopes = (_term_scope(term) for term in wanted.terms)
    return Scope(tuple(scope for scope in scopes if scope is not None))


def covers(wider: Filter, narrower: Filter) -> bool:
    """Whether `wider` takes every event that `narrower` takes. Yes is sure; see above for no."""
    return scope_of(wider).covers(scope_of(narrower))


def is_contradiction(wanted: Filter) -> bool:
    """Whether surely no event satisfies the filter."""
    return not scope_of(wanted).terms


def _term_scope(term: tuple[Predicate, ...]) -> TermScope | None:
    """None if the term contradicts itself."""
    by_attribute: dict[str, list[Predicate]] = {}
    for predicate in term:
        by_attribute.setdefault(predicate.attribute, []).append(predicate)
    scope = {}
    for attribute, predicates in by_attribute.items():
        extent = extent_of(attribute, predicates)
        if extent.is_empty:
            return None
        if extent != _unrestricted(attribute):
            scope[attribute] = extent
    return scope


def _covers_term(wider: TermScope, narrower: TermScope) -> bool:
    for attribute, extent in wider.items():
        if not holds(extent, narrower.get(attribute) or _unrestricted(attribute)):
            return False
    return True


def _unrestricted(attribute: str) -> Extent:
    return ANY_TOPIC if attribute == TOPIC else ANY
