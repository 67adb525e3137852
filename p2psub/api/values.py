"""Content as JSON, and back: what JSON has no word for is an object with one name that begins with a dollar.

    bool, int, float, text      as in JSON; 1 is an int and 1.0 is a float
    date                        {"$date": "2026-01-31T12:00:00Z"}, or its microseconds since 1970
    set of ints or texts        {"$set": [1, 2, "three"]}
    a float that is not finite  {"$float": "nan"}, "inf" or "-inf"

An id is text: node in hex, incarnation and sequence, with dots between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from p2psub.api.errors import BadContent
from p2psub.api.validation import value_bytes
from p2psub.model.content import Moment, Value
from p2psub.model.ids import ID_BYTES, EventId, NodeId, Place, SubscriptionId

Json = bool | int | float | str | dict[str, "Json"] | list["Json"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_NUMBERS: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_SPELLING: Final = 'a value is a bool, a number, text, {"$date": "2026-01-31T12:00:00Z"} or {"$set": [...]}'

Id = TypeVar("Id", EventId, SubscriptionId)


def values_from_json(given: Mapping[str, object]) -> dict[str, Value]:
    """Attributes, or parameters of a filter; BadContent names the one at fault."""
    values = {name: value_from_json(name, value) for name, value in given.items()}
    for name, value in values.items():
        value_bytes(name, value)
    return values


def value_from_json(name: str, given: object) -> Value:
    """One value; BadContent, under this name, if it is not valid."""
    match given:
        case bool() | int() | float() | str():
            return given
        case {"$date": str() as text, **others} if not others:
            return moment_from_text(name, text)
        case {"$date": int() as us, **others} if not others and not isinstance(us, bool):
            return Moment(us)
        case {"$set": [*members], **others} if not others:
            return frozenset(_member_from_json(name, member) for member in members)
        case {"$float": str() as text, **others} if not others and text in _NO_NUMBERS:
            return _NO_NUMBERS[text]
        case None:
            raise BadContent(f"{name} is null", "leave an attribute out that has no value")
        case _:
            raise BadContent(f"{name} is not a valid value", f"{_SPELLING}; put anything else into the body")


def _member_from_json(name: str, given: object) -> int | str:
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise BadContent(f"the set {name} has a member that is neither int nor text", "give ints or texts as members")
    return given


def moment_from_text(name: str, text: str) -> Moment:
    """A date as ISO 8601 writes it; one without a zone is taken as UTC."""
    try:
        return Moment.of(datetime.fromisoformat(text))
    except (ValueError, OverflowError) as error:
        raise BadContent(
            f"{name}: {text!r} is not a valid date", "write it as 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from error


def values_to_json(values: Mapping[str, Value]) -> dict[str, Json]:
    """The inverse of `values_from_json`."""
    return {name: value_to_json(value) for name, value in values.items()}


def value_to_json(value: Value) -> Json:
    """The inverse of `value_from_json`."""
    if isinstance(value, Moment):
        return {"$date": _date_to_json(value)}
    if isinstance(value, frozenset):
        return {
            "$set": [*sorted(m for m in value if isinstance(m, int)), *sorted(m for m in value if isinstance(m, str))]
        }
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
    return value


def _date_to_json(moment: Moment) -> str | int:
    try:
        date = _EPOCH + timedelta(microseconds=moment.us)
    except OverflowError:
        return moment.us  # A peer may send us a date that no calendar has.
    return date.replace(tzinfo=None).isoformat() + "Z"


def id_to_text(name: EventId | SubscriptionId) -> str:
    """An id as people copy it."""
    return f"{name.node.hex()}.{name.incarnation}.{name.sequence}"


def event_id_from_text(text: str) -> EventId:
    """The inverse of `id_to_text`."""
    return _id_from_text(EventId, text)


def subscription_id_from_text(text: str) -> SubscriptionId:
    """The inverse of `id_to_text`."""
    return _id_from_text(SubscriptionId, text)


def _id_from_text(make: Callable[[NodeId, int, int], Id], text: str) -> Id:
    node, _, numbers = text.partition(".")
    incarnation, _, sequence = numbers.partition(".")
    try:
        place = bytes.fromhex(node)
    except ValueError:
        place = b""
    numerals = [part for part in (incarnation, sequence) if part.isascii() and part.isdecimal() and len(part) < 20]
    if len(place) != ID_BYTES or len(numerals) != 2:
        raise BadContent(f"{text!r} is not a valid id", "copy it from an outcome or a notification: hex.number.number")
    return make(NodeId(Place(place)), int(incarnation), int(sequence))
