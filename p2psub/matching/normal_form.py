"""The normal form of a condition: a disjunction of conjunctions of predicates, in one order, nothing twice.

Negation is pushed down to the predicates while a condition is put together: in three-valued logic NOT, AND and OR obey
the laws of De Morgan and distribution, and for every operator there is one that holds exactly where it is false.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from p2psub.matching.printer import print_predicate
from p2psub.model.content import TOPIC, Filter, Operator, Predicate


@dataclass(frozen=True, slots=True)
class Every:
    """Holds where all its parts hold; without parts, always."""

    parts: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """Holds where one of its parts holds; without parts, never."""

    parts: tuple[Condition, ...] = ()


Condition = Predicate | Every | Some

_DENIED: Final = {
    Operator.LESS: Operator.GREATER_EQUAL,
    Operator.LESS_EQUAL: Operator.GREATER,
    Operator.EQUAL: Operator.UNEQUAL,
    Operator.PREFIX: Operator.NOT_PREFIX,
    Operator.SUFFIX: Operator.NOT_SUFFIX,
    Operator.CONTAINS: Operator.NOT_CONTAINS,
    Operator.IN: Operator.NOT_IN,
    Operator.SUBSET: Operator.NOT_SUBSET,
    Operator.PROPER_SUBSET: Operator.NOT_PROPER_SUBSET,
    Operator.LIKE: Operator.NOT_LIKE,
}
_OPPOSITE: Final = _DENIED | {denied: operator for operator, denied in _DENIED.items()}


def every(parts: list[Condition]) -> Condition:
    """The conjunction, spared what decides it or does not matter."""
    if Some() in parts:
        return Some()
    left = tuple(part for part in parts if part != Every())
    return left[0] if len(left) == 1 else Every(left)


def some(parts: list[Condition]) -> Condition:
    """The disjunction, spared what decides it or does not matter."""
    if Every() in parts:
        return Every()
    left = tuple(part for part in parts if part != Some())
    return left[0] if len(left) == 1 else Some(left)


def negated(condition: Condition) -> Condition:
    """What holds where the condition is false; where it is unknown, neither does."""
    match condition:
        case Every(parts):
            return Some(tuple(negated(part) for part in parts))
        case Some(parts):
            return Every(tuple(negated(part) for part in parts))
        case Predicate(attribute, operator, bool(constant)):
            # Of two truth values one is the other's negation, and an attribute exists or not.
            return Predicate(attribute, operator, not constant)
        case Predicate(attribute, operator, constant):
            return Predicate(attribute, _OPPOSITE[operator], constant)


def size_of(condition: Condition) -> tuple[int, int]:
    """How many conjunctions, and predicates in all of them, the normal form will have at most."""
    match condition:
        case Predicate():
            return 1, 1
        case Some(parts):
            sizes = [size_of(part) for part in parts]
            return sum(conjunctions for conjunctions, _ in sizes), sum(predicates for _, predicates in sizes)
        case Every(parts):
            sizes = [size_of(part) for part in parts]
            conjunctions = math.prod(count for count, _ in sizes)
            # Each predicate of a part is repeated for every choice of a conjunction from each other part.
            return conjunctions, sum(predicates * conjunctions // count for count, predicates in sizes)


def normal_form(condition: Condition) -> Filter:
    """The filter that holds where the condition does. Look at `size_of` first."""
    conjunctions = sorted(tuple(sorted(conjunction.items())) for conjunction in _weakest(_conjunctions(condition)))
    return Filter(tuple(tuple(predicate for _, predicate in conjunction) for conjunction in conjunctions))


_Key = tuple[bool, str, str]
"""Orders predicates, the topic's first. Equal keys mean equal predicates; `==` would take TRUE for 1."""
_Conjunction = dict[_Key, Predicate]


def _conjunctions(condition: Condition) -> list[_Conjunction]:
    match condition:
        case Predicate(attribute):
            return [{(attribute != TOPIC, attribute, print_predicate(condition)): condition}]
        case Some(parts):
            return _unlike(itertools.chain.from_iterable(map(_conjunctions, parts)))
        case Every(parts):
            conjunctions: list[_Conjunction] = [{}]
            for part in parts:
                choices = _conjunctions(part)
                conjunctions = _unlike(conjunction | choice for conjunction in conjunctions for choice in choices)
            return conjunctions


def _weakest(conjunctions: list[_Conjunction]) -> list[_Conjunction]:
    """The conjunctions without those that ask for all that another asks for, and more."""
    kept: list[_Conjunction] = []
    for conjunction in sorted(conjunctions, key=len):
        if not any(weaker.keys() <= conjunction.keys() for weaker in kept):
            kept.append(conjunction)
    return kept


def _unlike(conjunctions: Iterable[_Conjunction]) -> list[_Conjunction]:
    return list({frozenset(conjunction): conjunction for conjunction in conjunctions}.values())
