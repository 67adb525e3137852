"""The filter language: a subset of SQL-92 conditions, as in JMS selectors. docs/filters.md is its manual.

    topic = 'quotes/ACME' AND price BETWEEN 10 AND :limit AND NOT (venue LIKE 'dark%' OR halted = TRUE)

Typed and three-valued: comparing a missing attribute, or one of another type, is unknown; NOT unknown is unknown; an
event matches where the whole is true. Text may be hostile: it ends in a filter or in a `FilterError`, in bounded time.
"""

from __future__ import annotations

from collections.abc import Mapping

from p2psub.matching.faults import FilterError
from p2psub.matching.grammar import parse
from p2psub.matching.limits import DEFAULTS, Limits, excess_of
from p2psub.matching.normal_form import normal_form, size_of
from p2psub.matching.printer import print_filter
from p2psub.matching.reader import Reader
from p2psub.model.content import Filter

__all__ = ["FilterError", "Limits", "parse_filter", "print_filter"]


def parse_filter(text: str, params: Mapping[str, object] | None = None, limits: Limits = DEFAULTS) -> Filter:
    """The filter that a text describes, in normal form; a blank text wants every event.

    `params` holds the values of `:names`: int, float, str, bool, datetime, Moment, or a collection of those.
    """
    condition = Reader(text, params or {}, limits).condition(parse(text, limits))
    conjunctions, predicates = size_of(condition)
    if conjunctions > limits.conjunctions_max or predicates > limits.predicates_max:
        limit = f"conjunctions (limit conjunctions_max = {limits.conjunctions_max})"
        if conjunctions <= limits.conjunctions_max:
            limit = f"predicates (limit predicates_max = {limits.predicates_max})"
        message = f"as a disjunction of conjunctions the filter has too many {limit}"
        raise FilterError(text, 0, message, "have fewer ORs under ANDs: use IN, or make several subscriptions")
    wanted = normal_form(condition)
    excess = excess_of(wanted, limits)
    if excess is not None:
        advice = "have shorter texts and lists, and fewer ORs under ANDs; or make several subscriptions"
        raise FilterError(text, 0, f"as a disjunction of conjunctions the filter has too many {excess}", advice)
    return wanted
