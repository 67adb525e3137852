"""A filter as an application hands it in: it may have been put together by hand, past the language and its limits."""

from __future__ import annotations

from p2psub.matching.limits import excess_of
from p2psub.model.content import Filter
from p2psub.runtime.drafts import text_bytes, value_bytes
from p2psub.runtime.refusals import TooLarge


def check_filter(wanted: Filter) -> Filter:
    """The same filter; BadContent or TooLarge if no peer would take it."""
    for conjunction in wanted.conjunctions:
        for predicate in conjunction:
            text_bytes("an attribute of the filter", predicate.attribute)
            value_bytes(f"the constant for {predicate.attribute}", predicate.constant)
    excess = excess_of(wanted)
    if excess is not None:
        raise TooLarge(f"the filter has too many {excess}", "ask for less at once, or make several subscriptions")
    return wanted
