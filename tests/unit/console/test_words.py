"""A line in words."""

from __future__ import annotations

import pytest

from p2psub.cli.endpoint import BadUsage
from p2psub.console.words import split_body, split_words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("  a  b ", ["a", "b"]),
        ("a='b c' d", ["a='b c'", "d"]),
        ('a="b \\" c" d', ['a="b \\" c"', "d"]),
        ("a={b, 'c }', d} e", ["a={b, 'c }', d}", "e"]),
        ("a=} b", ["a=}", "b"]),
    ],
)
def test_quotes_and_braces_keep_words_together(line: str, words: list[str]) -> None:
    """And stay in the word, for they say what type it has."""
    assert split_words(line) == words


@pytest.mark.parametrize("line", ["a='b", 'a="b', "a={b", "a={b 'c}", "it's"])
def test_a_word_that_does_not_end_is_told_so(line: str) -> None:
    """With what to close."""
    with pytest.raises(BadUsage, match="close"):
        split_words(line)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("a b=1", ("a b=1", None)),
        ("a -- it's a body -- really ", ("a", "it's a body -- really")),
        ("a --", ("a", "")),
        ("a b=--c", ("a b=--c", None)),
    ],
)
def test_the_body_is_what_follows_the_mark(line: str, parts: tuple[str, str | None]) -> None:
    """As it stands, marks and quotes and all."""
    assert split_body(line) == parts
