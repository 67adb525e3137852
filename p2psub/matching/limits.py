"""How large a filter may be: its author may be careless or hostile, and every peer stores and matches it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final

from p2psub.model.content import FILTER_BYTES_MAX, Filter


@dataclass(frozen=True, slots=True)
class Limits:
    """What `parse_filter` takes before it refuses. All guesses, far above what people write by hand."""

    text_max: int = 32_768
    """Characters of the filter; also of each text that comes in as a parameter."""
    nodes_max: int = 1_024
    """Comparisons, and AND, OR and NOT between them."""
    depth_max: int = 32
    """Parentheses and NOTs inside one another."""
    conjunctions_max: int = 256
    """Conjunctions of the normal form, counted before it is made."""
    predicates_max: int = 4_096
    """Predicates in all conjunctions of the normal form together, counted before it is made."""
    list_max: int = 1_024
    """Members of one list or set."""
    like_max: int = 256
    """Characters of one LIKE pattern."""
    bytes_max: int = FILTER_BYTES_MAX
    """Bytes of the normal form, constants and all, counted as often as they occur in it."""


DEFAULTS: Final = Limits()


def excess_of(wanted: Filter, limits: Limits = DEFAULTS) -> str | None:
    """What a filter in normal form has too much of, if anything."""
    predicates = sum(map(len, wanted.conjunctions))
    if len(wanted.conjunctions) > limits.conjunctions_max:
        return f"conjunctions: {len(wanted.conjunctions):,} (limit conjunctions_max = {limits.conjunctions_max:,})"
    if predicates > limits.predicates_max:
        return f"predicates: {predicates:,} (limit predicates_max = {limits.predicates_max:,})"
    weight = 0
    for predicate in itertools.chain.from_iterable(wanted.conjunctions):
        weight += predicate.weight
        if weight > limits.bytes_max:  # Not later: a short text can mean gigabytes.
            return f"bytes in all its conjunctions together (limit bytes_max = {limits.bytes_max:,})"
    return None
