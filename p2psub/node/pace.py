"""How long a link needs to drain what it has taken, by how it drained before."""

from __future__ import annotations

from typing import Final

from p2psub.model.instants import SECOND_US, Micros

_NEW_SHARE: Final = 0.5
"""Of a new figure beside those before it. A guess."""
_EXPECTED_US_MAX: Final = Micros(30 * SECOND_US)
"""A link that needs longer for what it took is ended by its driver."""


class Pace:
    """What a byte takes on one link.

    That is known only of a link that was full: how long another was idle says nothing.
    """

    __slots__ = ("_full_since_us", "_taken_bytes", "_us_per_byte")

    def __init__(self) -> None:
        self._taken_bytes = 0
        self._full_since_us: Micros | None = None
        self._us_per_byte = 0.0

    @property
    def is_known(self) -> bool:
        """Whether the link was ever full."""
        return self._us_per_byte > 0

    def take(self, size_bytes: int, now: Micros, is_full: bool) -> None:
        """The link takes so much more; whether its credit is used up by that."""
        self._taken_bytes += size_bytes
        if is_full and self._full_since_us is None:
            self._full_since_us = now

    def drain(self, now: Micros) -> None:
        """The link asks for more."""
        if self._full_since_us is not None:
            seen = (now - self._full_since_us) / max(1, self._taken_bytes)
            known = self._us_per_byte or seen
            self._us_per_byte = known + _NEW_SHARE * (seen - known)
        self._taken_bytes, self._full_since_us = 0, None

    def expected_us(self, size_bytes: int) -> Micros:
        """How long until so much more is there, and an answer here: that may wait behind as large a message."""
        return Micros(min(_EXPECTED_US_MAX, int((self._taken_bytes + size_bytes) * self._us_per_byte)))
