"""How large a filter may be: whoever writes one may be careless or hostile, and everybody stores and matches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """What `parse_filter` takes before it refuses. All guesses, far above what people write by hand."""

    text_max: int = 32_768
    """Characters of the filter; also of each text that comes in as a parameter."""
    nodes_max: int = 1_024
    """Comparisons, and AND, OR and NOT between them."""
    depth_max: int = 32
    """Parentheses and NOTs inside one another."""
    terms_max: int = 256
    """Conjunctions of the normal form, counted before it is made."""
    predicates_max: int = 4_096
    """Predicates in all conjunctions of the normal form together, counted before it is made."""
    list_max: int = 1_024
    """Members of one list or set."""
    like_max: int = 256
    """Characters of one LIKE pattern."""


DEFAULTS: Final = Limits()
