"""What time and lateness are worth to an application, as it says it: spans such as 40s, prices as decimals."""

from __future__ import annotations

import re
from typing import Final

from p2psub.api.errors import BadContent, spelled
from p2psub.model.bids import DEADLINE_US_MAX, PRICE_MAX, PRICE_ONE, TIMEOUT_US_MAX, Bid
from p2psub.model.instants import SECOND_US

Span = float | str
"""Seconds, or a number with its unit: 40s, 200ms, 2m."""

_UNITS_US: Final = {"us": 1, "ms": 1_000, "s": SECOND_US, "m": 60 * SECOND_US, "h": 3600 * SECOND_US}
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h)?", re.ASCII)
_DIGITS_MAX: Final = 20
_SPELLING: Final = "write it as 40s, 200ms or 2m, or as a number of seconds"


def bid_of(deadline: Span | None = None, price: float = 1.0, penalty: float = 0.0) -> Bid:
    """A subscription's bid; BadContent if no peer would take it."""
    deadline_us = 0 if deadline is None else _span_us("deadline", deadline, DEADLINE_US_MAX)
    return Bid(deadline_us, _millionths("price", price), _millionths("penalty", penalty))


def timeout_us_of(timeout: Span | None) -> int:
    """The timeout of an event, 0 for none; BadContent if no peer would take it."""
    return 0 if timeout is None else _span_us("timeout", timeout, TIMEOUT_US_MAX)


def check_timeout_us(timeout_us: int) -> None:
    """Raise BadContent unless it is 0, or a timeout that an event can have."""
    if type(timeout_us) is not int:
        raise BadContent(f"timeout_us has type {type(timeout_us).__name__}", "give whole microseconds, or 0 for none")
    if timeout_us:
        _check_span("timeout", timeout_us, TIMEOUT_US_MAX, f"{spelled(timeout_us)} in microseconds")


def _span_us(name: str, given: Span, us_max: int) -> int:
    if isinstance(given, str):
        found = _SPAN.fullmatch(given.strip()) if len(given) <= _DIGITS_MAX else None
        if found is None:
            raise BadContent(f"{spelled(given)} is not a valid {name}", _SPELLING)
        us = float(found[1]) * _UNITS_US[found[2] or "s"]
    elif isinstance(given, bool) or not isinstance(given, int | float):
        raise BadContent(f"the {name} has type {type(given).__name__}", _SPELLING)
    else:
        us = given * SECOND_US
    return _check_span(name, us, us_max, spelled(given))


def _check_span(name: str, us: float, us_max: int, said: str) -> int:
    """Whole microseconds; no comparison holds for what is not a number."""
    if not 1 <= us <= us_max:
        advice = f"give at most {us_max // (3600 * SECOND_US)}h; leave it out if any age will do"
        raise BadContent(f"the {name} must be above 0 and at most {us_max / SECOND_US:,.0f} s, and is {said}", advice)
    return round(us)


def _millionths(name: str, given: float) -> int:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise BadContent(f"the {name} has type {type(given).__name__}", "give a number, such as 1.5")
    if not 0 <= given <= PRICE_MAX / PRICE_ONE:
        limits = f"the {name} must be at least 0 and at most {PRICE_MAX // PRICE_ONE:,}, and is {spelled(given)}"
        raise BadContent(limits, "give a number, such as 1.5; the default price is 1, and the default penalty 0")
    return round(given * PRICE_ONE)
