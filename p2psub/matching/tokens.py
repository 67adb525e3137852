"""The words and signs of a filter, with the limits that can be told from them alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from p2psub.matching.faults import FilterError
from p2psub.matching.limits import Limits
from p2psub.matching.literals import NAME, RESERVED, WORDS

SIGNS: Final = {
    "<": "LESS",
    "<=": "LESS_EQUAL",
    "=": "EQUAL",
    "<>": "UNEQUAL",
    "!=": "UNEQUAL",
    ">": "GREATER",
    ">=": "GREATER_EQUAL",
    "(": "LPAR",
    ")": "RPAR",
    "{": "LBRACE",
    "}": "RBRACE",
    ",": "COMMA",
}
COMPARING: Final = frozenset(["LESS", "LESS_EQUAL", "EQUAL", "UNEQUAL", "GREATER", "GREATER_EQUAL"])
NODES: Final = COMPARING | {"AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "STARTS", "ENDS", "CONTAINS", "SUBSET", "IS"}
"""Tokens of which each makes a node of the syntax tree (or is a name)."""

# Loops over quoted text are possessive: what has no end is found out in one pass.
_TOKEN: Final = re.compile(
    r"(?P<BLANK>\s+)"
    r"|(?P<DATE>(?ai:date|timestamp)\s*'(?:[^']|'')*+')"
    rf"|(?P<WORD>{NAME})"
    r"|(?P<STRING>'(?:[^']|'')*+')"
    r'|(?P<QUOTED>"(?:[^"]|"")*+")'
    r"|(?P<NUMBER>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w$.])|[+-](?ai:infinity)(?![\w$.]))"
    r"|(?P<PARAM>:[^\W\d]\w*)"
    r"|(?P<WRONG>==|=<|=>|&&|\|\||!(?!=))"
    r"|(?P<SIGN><>|<=|>=|!=|[<>=(){},])"
)

_WRONG: Final = {
    "==": ("== is not an operator", "to compare, write ="),
    "=<": ("=< is not an operator", "write <="),
    "=>": ("=> is not an operator", "write >="),
    "&&": ("&& is not an operator", "write AND"),
    "||": ("|| is not an operator", "write OR"),
    "!": ("! is not an operator", "write NOT, or <> for 'not equal'"),
    "'": ("the text has no end", "close it with a single quote; a quote inside is written twice: 'it''s'"),
    '"': ("the quoted name has no end", "close it with a double quote"),
    ":": ("a parameter has no name", "write :name, and hand its value in beside the filter"),
    ";": ("a filter is one condition", "leave the ; out"),
    "[": ("[ has no meaning here", "lists are written (1, 2), sets {1, 2}"),
    **dict.fromkeys("‘’“”`´", ("this is not a plain quote", "text is written with straight single quotes: 'text'")),
    **dict.fromkeys("+-*/%^", ("filters do not calculate", "compare an attribute with a constant, such as -5")),
}


class Token(NamedTuple):
    """A piece of a filter: what it is, as written, and where."""

    type: str
    value: str
    at: int


def tokens_of(text: str, limits: Limits) -> Iterator[Token]:
    """The tokens of a filter up to the first fault, which is raised."""
    if len(text) > limits.text_max:
        raise FilterError(
            text,
            limits.text_max,
            f"the filter is longer than {limits.text_max} characters (limit text_max)",
            "make several subscriptions of it",
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FilterError(text, error.start, "the filter is not valid Unicode", "remove this character") from error
    yield from _limited(text, limits)


def _limited(text: str, limits: Limits) -> Iterator[Token]:
    nodes = level = 0
    bases = [0]  # the levels at which the open parentheses began
    for token in _scanned(text):
        nodes += token.type in NODES
        match token.type:
            case "NOT":
                level += 1
            case "LPAR":
                level += 1
                bases.append(level)
            case "RPAR" if len(bases) > 1:
                bases.pop()
                level = bases[-1]
            case _:
                level = bases[-1]
        if nodes > limits.nodes_max:
            message = f"the filter has more than {limits.nodes_max} comparisons and connectives (limit nodes_max)"
            raise FilterError(text, token.at, message, "use IN for many alternatives, or several subscriptions")
        if level > limits.depth_max:
            message = f"more than {limits.depth_max} parentheses and NOTs inside one another (limit depth_max)"
            raise FilterError(text, token.at, message, "write the condition flatter")
        yield token


def _scanned(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None or found.lastgroup == "WRONG":
            raise _unreadable(text, at)
        word, kind = found.group(), found.lastgroup
        if kind == "SIGN":
            kind = SIGNS[word]
        elif kind == "WORD":
            kind = _kind_of_word(word)
        if kind != "BLANK":
            yield Token(kind, word, at)
        at = found.end()


def _kind_of_word(word: str) -> str:
    # Only ASCII: the capital of a dotless ı is an I, too.
    upper = word.upper() if word.isascii() else ""
    if upper == "INFINITY":
        return "NUMBER"
    return upper if upper in RESERVED or upper in WORDS else "NAME"


def _unreadable(text: str, at: int) -> FilterError:
    for length in (2, 1):
        if text[at : at + length] in _WRONG and not text[at : at + 2].lstrip("+-.")[:1].isdigit():
            return FilterError(text, at, *_WRONG[text[at : at + length]])
    if text[at] in "+-.0123456789":
        return FilterError(
            text, at, "this is not a valid number", "names begin with a letter; numbers look like 5, -2.5 or 1e6"
        )
    return FilterError(text, at, f"unexpected character {text[at]!a}", 'quote names with odd characters: "odd name"')
