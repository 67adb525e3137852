"""Filters as text, so that reading the text again gives the same filter.

That holds for every filter that was read from text. One that was put together otherwise comes back as one that takes
the same events: 1.0 as 1, and a predicate that nothing can satisfy as FALSE.
"""

from __future__ import annotations

from typing import Final

from p2psub.matching.like import ESCAPE, canonical, items_of
from p2psub.matching.literals import write, write_members, write_name, write_text
from p2psub.matching.predicates import is_defined
from p2psub.model.content import Filter, Operator, Predicate

EVERYTHING: Final = "TRUE"
NOTHING: Final = "FALSE"

_WORDS: Final = {
    Operator.PREFIX: "STARTS WITH",
    Operator.NOT_PREFIX: "NOT STARTS WITH",
    Operator.SUFFIX: "ENDS WITH",
    Operator.NOT_SUFFIX: "NOT ENDS WITH",
    Operator.CONTAINS: "CONTAINS",
    Operator.NOT_CONTAINS: "NOT CONTAINS",
    Operator.IN: "IN",
    Operator.NOT_IN: "NOT IN",
    Operator.SUBSET: "SUBSET OF",
    Operator.NOT_SUBSET: "NOT SUBSET OF",
    Operator.PROPER_SUBSET: "PROPER SUBSET OF",
    Operator.NOT_PROPER_SUBSET: "NOT PROPER SUBSET OF",
    Operator.LIKE: "LIKE",
    Operator.NOT_LIKE: "NOT LIKE",
}


def print_filter(wanted: Filter) -> str:
    """The filter as text."""
    conjunctions = [
        " AND ".join(map(print_predicate, conjunction)) or EVERYTHING for conjunction in wanted.conjunctions
    ]
    if len(conjunctions) == 1:
        return conjunctions[0]
    return (
        " OR ".join(
            f"({text})" if len(conjunction) > 1 else text
            for conjunction, text in zip(wanted.conjunctions, conjunctions, strict=True)
        )
        or NOTHING
    )


def print_predicate(predicate: Predicate) -> str:
    """One comparison as text."""
    operator, constant = predicate.operator, predicate.constant
    if not is_defined(operator, constant):
        return NOTHING
    name = write_name(predicate.attribute)
    if operator is Operator.EXISTS:
        return f"{name} IS NOT NULL" if constant else f"{name} IS NULL"
    written = f"{name} {_WORDS.get(operator, operator.value)} "
    if operator in (Operator.IN, Operator.NOT_IN) and isinstance(constant, frozenset):
        return f"{written}({write_members(constant)})" if constant else NOTHING
    if operator in (Operator.LIKE, Operator.NOT_LIKE) and isinstance(constant, str):
        pattern = canonical(items_of(constant))
        return written + write_text(pattern) + (f" ESCAPE '{ESCAPE}'" if ESCAPE in pattern else "")
    return written + write(constant)
