"""What an application handed in, as a complaint about it can say it."""

from __future__ import annotations

from typing import Final

_TEXT_MAX: Final = 40
_BITS_MAX: Final = 64


def spelled(given: object) -> str:
    """Short, whatever it is: Python itself refuses to write down a number of thousands of digits."""
    if isinstance(given, str):
        return repr(given[:_TEXT_MAX])
    if isinstance(given, int) and given.bit_length() > _BITS_MAX:
        return "a number beyond 64 bits"
    if isinstance(given, int | float):
        return str(given)
    return f"a value of type {type(given).__name__}"
