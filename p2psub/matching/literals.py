"""How constants and names are written in a filter, and what may be a constant.

A constant is kept in the one form that stands for all that compare alike: 1.0 is 1. It must be able to travel: text is
valid Unicode, whole numbers fit into 64 bits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from datetime import UTC, datetime, time, timedelta
from typing import Final

from p2psub.errors import P2psubError
from p2psub.model.content import Moment, Value

RESERVED: Final = frozenset(["AND", "BETWEEN", "FALSE", "IN", "INFINITY", "IS", "LIKE", "NOT", "NULL", "OR", "TRUE"])
"""Words that are not attributes unless quoted."""
WORDS: Final = frozenset(["CONTAINS", "ENDS", "ESCAPE", "OF", "PROPER", "STARTS", "SUBSET", "WITH"])
"""Words of the language that are attributes where one is expected."""
NAME: Final = r"(?:[^\W\d]|\$)[\w$.]*"

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**64 - 1
"""The whole numbers that MessagePack can carry."""

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP: Final = re.compile(
    _DATE.pattern + r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SINCE_EPOCH: Final = re.compile(r"@(-?[0-9]{1,20})")
"""Microseconds since 1970, for moments that no calendar date reaches."""


class BadConstant(P2psubError):
    """What cannot be a constant, why, and what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint


def read_number(text: str) -> int | float:
    """A whole number, or a float that is not also one."""
    if text.upper().endswith("INFINITY"):
        return -math.inf if text.startswith("-") else math.inf
    digits = text.lstrip("+-0")
    if digits.isdecimal() or not digits:
        # Longer ones are out of range, and int() itself refuses very long ones, be it for their zeros.
        size = int(digits or "0") if len(digits) <= 20 else INT_MAX + 1
        return whole(-size if text.startswith("-") else size)
    number = float(text)
    if math.isinf(number):
        raise BadConstant("the number is too large for a float", "leave the bound out, or write INFINITY")
    return plain_float(number)


def whole(number: int) -> int:
    """The number itself, if it can travel."""
    if not INT_MIN <= number <= INT_MAX:
        raise BadConstant("the whole number does not fit into 64 bits", "write a float (1e20), or keep it as text")
    return number


def plain_float(number: float) -> int | float:
    """The whole number that compares like this float, if there is one that can travel; NaN is refused."""
    if math.isnan(number):
        raise BadConstant("NaN compares with nothing", "leave the comparison out")
    return int(number) if number.is_integer() and INT_MIN <= number <= INT_MAX else number


def read_moment(text: str) -> Moment:
    """A date (midnight), or a date and time; UTC where it names no zone."""
    since = _SINCE_EPOCH.fullmatch(text)
    if since:
        return Moment(whole(int(since[1])))
    if not _TIMESTAMP.fullmatch(text):
        raise BadConstant(
            f"{text[:40]!r} is not a valid date",
            "write DATE '2026-01-31' or TIMESTAMP '2026-01-31T10:00:00Z' (or +02:00)",
        )
    try:
        return Moment.of(datetime.fromisoformat(text))
    except ValueError as error:
        raise BadConstant(f"this date does not exist: {error}", "check year, month, day, hour and zone") from error


def constant_of(value: object, text_max: int) -> Value:
    """A Python value as a constant; lists, tuples and sets become sets of whole numbers and texts."""
    if isinstance(value, datetime):
        return Moment.of(value)
    if type(value) is bool:
        return value
    if type(value) is int:
        return whole(value)
    if type(value) is float:
        return plain_float(value)
    if type(value) is str:
        return _travelling(value, text_max)
    if type(value) is Moment:
        return Moment(whole(value.us))
    if isinstance(value, list | tuple | set | frozenset):
        return set_of([constant_of(member, text_max) for member in value])
    kind = "None" if value is None else f"a value of type {type(value).__name__}"
    raise BadConstant(f"{kind} is not a valid constant", "use an int, float, str, bool, datetime, Moment or a set")


def set_of(members: Collection[Value]) -> frozenset[int | str]:
    """A set value; its members are whole numbers and texts."""
    found = frozenset(member for member in members if type(member) is int or isinstance(member, str))
    if not all(type(member) in (int, str) for member in members):
        raise BadConstant("a set holds whole numbers and text only", "compare other values one by one, or with IN")
    return found


def _travelling(text: str, text_max: int) -> str:
    if len(text) > text_max:
        raise BadConstant(f"the text is longer than {text_max} characters (limit text_max)", "use a shorter text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadConstant("the text is not valid Unicode", f"see its character {error.start}") from error
    return text


def write_text(text: str) -> str:
    """A text in single quotes."""
    return "'" + text.replace("'", "''") + "'"


def write_name(name: str) -> str:
    """An attribute, quoted where it could be taken for something else."""
    if re.fullmatch(NAME, name) and name.upper() not in RESERVED | WORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def write(value: Value) -> str:
    """A constant as the parser reads it; NaN has no writing."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case float() if math.isinf(value):
            return "INFINITY" if value > 0 else "-INFINITY"
        case int() | float():
            return repr(value)
        case str():
            return write_text(value)
        case Moment():
            return _write_moment(value)
        case frozenset():
            return "{" + write_members(value) + "}"


def write_members(members: frozenset[int | str]) -> str:
    """The members of a set: numbers, then texts, each in their order."""
    numbers = sorted(member for member in members if isinstance(member, int))
    texts = sorted(member for member in members if isinstance(member, str))
    return ", ".join([*map(write, numbers), *map(write, texts)])


def _write_moment(moment: Moment) -> str:
    try:
        date = _EPOCH + timedelta(microseconds=moment.us)
    except OverflowError:
        return f"TIMESTAMP '@{moment.us}'"
    if date.time() == time():
        return f"DATE '{date.date().isoformat()}'"
    return f"TIMESTAMP '{date.isoformat().removesuffix('+00:00')}Z'"
