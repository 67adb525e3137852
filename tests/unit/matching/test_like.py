"""LIKE patterns: the fast matcher against the plain one, and without backtracking."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.matching.like import Like, canonical, items_of
from tests.oracles.linear import is_like

PIECES = st.sampled_from(["%", "_", "a", "b", "ab", "aa", "\\%", "\\_", "\\\\", "é"])
PATTERNS = st.lists(PIECES, max_size=10).map("".join)
TEXTS = st.lists(st.sampled_from(["a", "b", "%", "_", "\\", "é", "ab", "aab"]), max_size=12).map("".join)


@settings(max_examples=3_000)
@given(PATTERNS, TEXTS)
def test_patterns_fit_what_the_oracle_says(pattern: str, text: str) -> None:
    """Segments found one after the other fit wherever some choice of places fits."""
    assert Like(canonical(items_of(pattern))).fits(text) == is_like(text, pattern, "\\")


@given(PATTERNS)
def test_canonical_patterns_stay(pattern: str) -> None:
    """What is canonical is written as it is; what means the same is written the same."""
    written = canonical(items_of(pattern))
    assert canonical(items_of(written)) == written
    assert canonical(items_of(written.replace("_%", "%_"))) == written or "\\" in written


def test_patterns_that_backtracking_dies_of() -> None:
    """Many wildcards over a long text that almost fits: each character is looked at once per segment at most."""
    text = "a" * 20_000
    assert not Like("%a" * 100 + "%b").fits(text)
    assert not Like("%" + "a_" * 60 + "b%").fits(text)
    assert Like("%a_a%" * 20).fits(text)
    assert not Like("_%" * 10 + "%b_b%").fits(text)
