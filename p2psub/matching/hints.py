"""From the token that fits nowhere to advice: what was expected there tells what the writer meant."""

from __future__ import annotations

import difflib
from collections.abc import Sequence, Set
from typing import Final

from p2psub.matching.faults import FilterError
from p2psub.matching.literals import RESERVED, WORDS
from p2psub.matching.tokens import COMPARING, Token

Advice = tuple[str, str]
"""Message and hint."""

END: Final = "$END"
WORD_MAX: Final = 20
"""Longer words are not compared with those of the language, and are shown cut."""

_CONNECTIVES: Final = ("AND", "OR")
_OPERATORS: Final = ("LIKE", "IN", "NOT", "BETWEEN", "STARTS", "ENDS", "CONTAINS", "SUBSET", "PROPER", "IS")
_FOLLOWERS: Final = {
    "STARTS": "STARTS WITH 'text'",
    "ENDS": "ENDS WITH 'text'",
    "SUBSET": "SUBSET OF {'a', 'b'}",
    "PROPER": "PROPER SUBSET OF {'a', 'b'}",
    "OF": "SUBSET OF {'a', 'b'}",
    "IN": "IN ('a', 'b')",
    "IS": "IS NULL or IS NOT NULL",
    "NOT": "NOT IN, NOT LIKE, NOT BETWEEN, NOT STARTS WITH, NOT ENDS WITH, NOT CONTAINS or NOT SUBSET OF",
}
"""How what began with a word goes on."""


def unexpected(text: str, seen: Sequence[Token], token: Token, expected: Set[str]) -> FilterError:
    """The error for a token that does not fit after those seen before it."""
    previous = seen[-1] if seen else None
    if token.type == END and expected & {"RPAR", "RBRACE"}:
        opening = _unclosed(seen)
        return FilterError(text, opening.at, f"{opening.value} is never closed", "close it, or leave it out")
    at = token.at
    if "EQUAL" in expected and "LIKE" in expected and token.type in (END, "RPAR", *_CONNECTIVES):
        # The fault is what is there, not what is missing behind it.
        assert previous is not None
        at = previous.at
        message, hint = "an attribute alone is not a condition", f"compare it: {previous.value[:WORD_MAX]} = TRUE"
    elif "EQUAL" in expected:
        message, hint = _no_operator(token, expected)
    elif "STRING" in expected and "NAME" not in expected:
        message, hint = _no_constant(token)
    elif "NAME" in expected:
        message, hint = _no_comparison(previous, token, expected)
    elif "OR" in expected:
        message, hint = _no_connective(token, expected)
    elif "COMMA" in expected:
        message, hint = f"{_shown(token)} does not fit into a list", "put a comma between two constants"
    elif "AND" in expected:
        message, hint = f"BETWEEN needs two constants, not {_shown(token)}", "write BETWEEN 1 AND 5"
    else:
        message, hint = _no_end_of_operator(previous, token)
    return FilterError(text, at, message, hint)


def _no_operator(token: Token, expected: Set[str]) -> Advice:
    if "LIKE" not in expected:
        return "a constant alone is not a condition", "put the attribute first: price > 5, tags CONTAINS 'x'"
    hint = _meant(token, _OPERATORS) or "an attribute is followed by =, <>, <, <=, >, >=, " + ", ".join(_OPERATORS)
    return f"{_shown(token)} is not an operator", hint


def _no_constant(token: Token) -> Advice:
    if token.type == "QUOTED":
        return "double quotes hold names of attributes", "strings are written with single quotes: 'text'"
    if token.type == "NULL":
        return "nothing compares with NULL", "write IS NULL or IS NOT NULL"
    if token.type == "NAME" or token.type in WORDS:
        hint = f"strings are written with single quotes: '{token.value[:WORD_MAX]}'; two attributes do not compare"
        return f"{_shown(token)} is not a constant", hint
    if token.type == "LPAR":
        return "a list is not a constant", "use IN for a list, {…} for a set, and no parentheses around one constant"
    return f"a constant is expected, not {_shown(token)}", "such as 5, -2.5, 'text', TRUE, DATE '2026-01-31' or :name"


def _no_comparison(previous: Token | None, token: Token, expected: Set[str]) -> Advice:
    if "LPAR" not in expected:
        return "two constants do not compare", "one side of a comparison is an attribute"
    if token.type in RESERVED and token.type not in _CONNECTIVES:
        return f"{_shown(token)} needs an attribute before it", f'an attribute of that name is written "{token.value}"'
    if previous is None:
        return f"a filter does not begin with {_shown(token)}", "begin with an attribute, such as price > 5"
    return f"a comparison is expected after {_shown(previous)}, not {_shown(token)}", "such as price > 5"


def _no_connective(token: Token, expected: Set[str]) -> Advice:
    if token.type == "RPAR":
        return "there is no ( for this )", "leave it out"
    if token.type in COMPARING:
        return "comparisons do not chain", "write a > 1 AND a < 5, or a BETWEEN 1 AND 5"
    choice = [word for word in (*_CONNECTIVES, "ESCAPE") if word in expected]
    return f"{_shown(token)} is unexpected here", _meant(token, choice) or "join two comparisons with AND or OR"


def _no_end_of_operator(previous: Token | None, token: Token) -> Advice:
    assert previous is not None
    if previous.type == "NOT" and token.type in COMPARING:
        return f"NOT does not go with {_shown(token)}", "write <> for 'not equal', or NOT before the attribute"
    return f"{_shown(token)} does not go with {_shown(previous)}", f"write {_FOLLOWERS[previous.type]}"


def _meant(token: Token, choice: Sequence[str]) -> str | None:
    if not token.value.isidentifier() or len(token.value) > WORD_MAX:
        return None
    close = difflib.get_close_matches(token.value.upper(), choice, n=1)
    return f"unknown word; did you mean {close[0]}?" if close else None


def _shown(token: Token) -> str:
    if token.type == END:
        return "the end"
    return token.value if len(token.value) <= WORD_MAX else token.value[:WORD_MAX] + "…"


def _unclosed(seen: Sequence[Token]) -> Token:
    opened: list[Token] = []
    for token in seen:
        if token.type in ("LPAR", "LBRACE"):
            opened.append(token)
        elif token.type in ("RPAR", "RBRACE"):
            opened.pop()
    return opened[-1]
