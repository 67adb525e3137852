"""Values as people type them: `key=value`.

price=12.5  count=3  open=true      numbers and bools
name=ACME  day=2026-01-01           text, when it looks like nothing else
code='42'  note="a b"               text in quotes: as it stands, or with the escapes of JSON
at=@2026-01-31T12:00:00Z            a date; without a zone it is UTC
tags={red,7,'x,y'}                  a set of whole numbers and texts
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Final

from p2psub.api.errors import BadContent
from p2psub.api.values import moment_from_text, value_to_json
from p2psub.model.content import Moment, Value

SYNTAX: Final = (
    "Values: 12.5, 3, true, text; '42' or \"a b\" is text in quotes; @2026-01-31T12:00:00Z a date; {red,7} a set. "
    "Quote what your shell would take apart: 'tags={red,7}'."
)

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,30}")
_FLOAT: Final = re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][+-]?[0-9]+)?")
_MICROSECONDS: Final = re.compile(r"([+-]?[0-9]{1,20})us")
_MEMBER: Final = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^,'"{}]*?)\s*(,|$)""")
_BARE: Final = re.compile(r"[A-Za-z_/][\w/.:-]*", re.ASCII)
_WORDS: Final = frozenset(["true", "false", "nan", "inf"])


def read_assignments(texts: Iterable[str]) -> dict[str, Value]:
    """Values by name; BadContent with advice if one is not valid, or named twice."""
    values: dict[str, Value] = {}
    for name, value in map(read_assignment, texts):
        if name in values:
            # A shell makes tags=a tags=b of tags={a,b}.
            raise BadContent(f"{name} is given twice", f"give it once; quote a set: '{name}={{red,7}}'")
        values[name] = value
    return values


def read_assignment(text: str) -> tuple[str, Value]:
    """Name and value of `key=value`; BadContent with advice if the text has another form."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadContent(f"{text!r} is not of the form key=value", "write price=12.5, say")
    return name, read_value(name, value)


def read_value(name: str, text: str) -> Value:
    """The value that is written; `name` is what a complaint is about."""
    if text in {"true", "false"}:
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if text.startswith("@"):
        us = _MICROSECONDS.fullmatch(text, 1)
        return Moment(int(us[1])) if us else moment_from_text(name, text[1:])
    if text.startswith("{"):
        return _read_set(name, text)
    return _read_text(name, text)


def _read_set(name: str, text: str) -> frozenset[int | str]:
    members: list[int | str] = []
    inside, at = text[1:-1].strip(), 0
    if not text.endswith("}") or inside.endswith(","):
        raise BadContent(f"{name}: {text!r} is not a valid set", "write {red,7,'x,y'}")
    while at < len(inside):
        member = _MEMBER.match(inside, at)
        if member is None or not member[1]:
            raise BadContent(f"{name}: {text!r} is not a valid set", "write {red,7,'x,y'}")
        members.append(int(member[1]) if _INTEGER.fullmatch(member[1]) else _read_text(name, member[1]))
        at = member.end()
    return frozenset(members)


def _read_text(name: str, text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    if not text.startswith('"'):
        return text
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    if not isinstance(said, str):
        raise BadContent(f"{name}: {text} does not end as it begins", "close the quotes, or take single ones")
    return said


def spell_value(value: Value) -> str:
    """A value as a person may type it, harmless to a terminal whatever peer sent it."""
    match value:
        case bool():
            return str(value).lower()
        case float() if not math.isfinite(value):
            return str(value)
        case int() | float():
            return repr(value)
        case str():
            return spell_text(value)
        case Moment():
            return _spell_moment(value)
        case frozenset():
            numbers, texts = (sorted(m for m in value if isinstance(m, kind)) for kind in (int, str))
            return "{" + ",".join([*map(str, numbers), *map(spell_text, map(str, texts))]) + "}"


def _spell_moment(moment: Moment) -> str:
    json_form = value_to_json(moment)
    assert isinstance(json_form, dict)
    date = json_form["$date"]
    return f"@{date}" if isinstance(date, str) else f"@{date}us"


def spell_text(text: str) -> str:
    """Text as it is where it cannot be mistaken, else in quotes, with escapes for what cannot be seen."""
    if _BARE.fullmatch(text) and text not in _WORDS:
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in json.dumps(text, ensure_ascii=False))
