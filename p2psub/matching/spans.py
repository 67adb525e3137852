"""Predicates as spans of 64-bit floats, so that thousands of them can be compared with one value at once.

Every value has a position on the axis of its attribute and kind; a value that satisfies a predicate lies inside the
predicate's span. For numbers and dates below 2**53, and truth values, the converse holds too (`is_exact`); elsewhere a
span only rules out: positions of huge numbers are rounded, and a text has the position of its first bytes (for order)
or of its checksum (for equality). Rounding keeps the order, so what lies outside of the span surely fails.
"""

from __future__ import annotations

import math
import sys
import zlib
from collections.abc import Callable
from typing import Any, Final

from p2psub.model.content import Moment, Operator, Predicate, Value

EXACT_BELOW: Final = 2.0**53
"""From here on, whole numbers are more than floats can tell apart."""
_ORDER_BYTES: Final = 6
"""Bytes of a text that fit into the 53 bits of a position."""
_AFTER: Final = [float(256 ** (_ORDER_BYTES - length) - 1) for length in range(_ORDER_BYTES + 1)]
"""By length of a text, how far the last that begin with it lie behind it."""


Kind = int
NUMBER: Final[Kind] = 0
DATE: Final[Kind] = 1
BOOL: Final[Kind] = 2
CHECKSUM: Final[Kind] = 3
SPELLING: Final[Kind] = 4
KINDS: Final = 5
"""Kinds of axes; texts have two. Plain numbers, since an enum is slow to hash and this is a hot path."""


Span = tuple[Kind, float, float, bool]
"""Kind of the axis, the lowest and the highest position inside, and whether it is exact."""


KINDS_OF: Final[dict[type, tuple[Kind, ...]]] = {
    int: (NUMBER,),
    float: (NUMBER,),
    Moment: (DATE,),
    bool: (BOOL,),
    str: (CHECKSUM, SPELLING),
}
"""The axes on which a value has a position."""


def positions_of(kind: Kind, values: list[Value]) -> list[float]:
    """Where values lie on an axis of their type."""
    if kind == NUMBER:
        try:
            return list(map(float, values))  # type: ignore[arg-type]
        except OverflowError:
            pass
    return list(map(_POSITIONS[kind], values))


def position_of(kind: Kind, value: Value) -> float:
    """Where one value lies."""
    return _POSITIONS[kind](value)


def span_of(predicate: Predicate) -> Span | None:
    """The span of a predicate; None if it has none of use. The predicate must be defined."""
    operator, constant = predicate.operator, predicate.constant
    kind, axis = type(constant), NUMBER
    if kind is str:
        return _span_of_text(operator, constant)  # type: ignore[arg-type]
    if kind is float:
        at: float = constant  # type: ignore[assignment]
    elif kind is int:
        at = _rounded(constant)  # type: ignore[arg-type]
    elif kind is Moment:
        axis, at = DATE, _rounded(constant.us)  # type: ignore[union-attr]
    elif kind is bool and operator is _EQUAL:
        axis, at = BOOL, float(constant)  # type: ignore[arg-type]
    else:
        return None
    is_exact = -EXACT_BELOW < at < EXACT_BELOW
    if operator is _GREATER_EQUAL:
        return (axis, at, _INFINITY, is_exact)
    if operator is _LESS_EQUAL:
        return (axis, -_INFINITY, at, is_exact)
    if operator is _EQUAL:
        return (axis, at, at, is_exact)
    if operator is _GREATER:
        return (axis, math.nextafter(at, _INFINITY) if is_exact else at, _INFINITY, is_exact)
    if operator is _LESS:
        return (axis, -_INFINITY, math.nextafter(at, -_INFINITY) if is_exact else at, is_exact)
    return None


def _span_of_text(operator: Operator, constant: str) -> Span | None:
    if operator not in _SPANNING_TEXTS:
        return None
    if operator is _EQUAL:
        at = _checksum(constant)
        return (CHECKSUM, at, at, False)
    written = constant.encode(errors="surrogatepass")
    at = _spelled(written)
    # What fits into a position is told exactly by it, but for a text that ends from one that goes on with NUL.
    is_exact = len(written) <= _ORDER_BYTES and b"\0" not in written
    if operator is _PREFIX:
        return (SPELLING, at, at + _AFTER[min(len(written), _ORDER_BYTES)], is_exact)
    if operator is _GREATER_EQUAL or operator is _GREATER:
        return (SPELLING, at, _INFINITY, is_exact and operator is _GREATER_EQUAL)
    if operator is _LESS and is_exact:
        return (SPELLING, -_INFINITY, at - 1, True)
    return (SPELLING, -_INFINITY, at, False)


# Looking a member up in its class costs more than comparing with it.
_LESS, _LESS_EQUAL, _EQUAL = Operator.LESS, Operator.LESS_EQUAL, Operator.EQUAL
_GREATER, _GREATER_EQUAL, _PREFIX = Operator.GREATER, Operator.GREATER_EQUAL, Operator.PREFIX
_SPANNING_TEXTS: Final = (_PREFIX, _EQUAL, _GREATER_EQUAL, _LESS_EQUAL, _LESS, _GREATER)
_INFINITY: Final = math.inf


def _rounded(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return sys.float_info.max if number > 0 else -sys.float_info.max


def _checksum(text: str) -> float:
    return float(zlib.crc32(text.encode(errors="surrogatepass")))


def _spelling(text: str) -> float:
    return _spelled(text.encode(errors="surrogatepass"))


def _spelled(written: bytes) -> float:
    # UTF-8 has the order of code points.
    return float(int.from_bytes(written[:_ORDER_BYTES].ljust(_ORDER_BYTES, b"\0")))


_POSITIONS: Final[dict[Kind, Callable[[Any], float]]] = {
    NUMBER: _rounded,
    DATE: lambda date: _rounded(date.us),
    BOOL: float,
    CHECKSUM: _checksum,
    SPELLING: _spelling,
}
