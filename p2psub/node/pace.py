"""How fast one link drains, and how much may be under way on it: what is on the link can be put in order no more.

What has left us is under way until its receiver has it, also where a kernel or a router holds it up. On a link that is
full, a tenth of a second may be under way, beside what a round trip holds on its own, or one message.
"""

from __future__ import annotations

import math
from typing import Final

from p2psub.model.effects import LinkDrained
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.stakes import BYTES_PER_KB, LinkEstimate
from p2psub.model.ways import NO_WAY, Way

WINDOW_US: Final = 100_000
"""So much of the link's time may be under way."""
WINDOW_BYTES_MAX: Final = 1024 * 1024
"""A few calls of a publisher that never rests, so that no fast link stands still until we have looked at it."""
_MEMORY_US: Final = SECOND_US
"""After so much time in which the link was full the old figures count a third. A guess."""
_GROWTH: Final = 4
"""A window becomes no larger than so many times what arrived while the link was full, which is half of it and more."""
_KNOWN_US: Final = 10_000
"""A link is known once it was full for so long: buffers on the way take a little at once. A guess."""
_FRESH_US: Final = 10 * SECOND_US
"""For so long a figure is believed enough to give messages up by it. A guess."""
_REMEMBERED_US: Final = 300 * SECOND_US
"""For so long a figure is told to those who choose by it. A guess."""
_EXPECTED_US_MAX: Final = Micros(30 * SECOND_US)
"""A link that needs longer for what it took is ended by its driver."""
_UNKNOWN: Final = LinkEstimate(0.0, 0.0)
_MEAN_MIN: Final = 0.001
"""In microseconds per KB: faster than any link."""


class Pace:
    """What is under way on one link, and what a KB takes on it.

    The latter is known only of a link that was full: how long another was idle says nothing.
    """

    __slots__ = (
        "_arrived",
        "_busy_bytes",
        "_busy_us",
        "_mean_us_per_kb",
        "_measured_us",
        "_round_trip_us",
        "_sent",
        "_variance",
        "window",
    )

    def __init__(self, window: int, round_trip_us: int = 0) -> None:
        self.window = window
        """How many bytes may be under way."""
        self._round_trip_us = round_trip_us
        self._sent = 0
        self._arrived = 0
        """Of that, as far as we were told."""
        self._busy_us = 0.0
        self._busy_bytes = 0.0
        """For how long the link was full of late, and what arrived meanwhile; what is long ago counts less."""
        self._mean_us_per_kb = 0.0
        self._variance = 0.0
        self._measured_us: Micros | None = None

    @property
    def under_way(self) -> int:
        return self._sent - self._arrived

    @property
    def is_full(self) -> bool:
        return self.under_way >= self.window

    @property
    def is_known(self) -> bool:
        """Whether the link was ever full, for longer than a buffer takes."""
        return self._measured_us is not None

    @property
    def estimate(self) -> LinkEstimate:
        """Mean and standard deviation of what a KB takes; nothing while that is unknown."""
        return LinkEstimate(self._mean_us_per_kb, math.sqrt(self._variance)) if self.is_known else _UNKNOWN

    def is_fresh(self, now: Micros) -> bool:
        """Whether the estimate is of late."""
        return self._measured_us is not None and now - self._measured_us <= _FRESH_US

    def way(self, now: Micros, waiting: int = 0) -> Way:
        """The link as part of a way: what is under way goes first, and so many bytes that wait for it."""
        if self._measured_us is None or now - self._measured_us > _REMEMBERED_US:
            return NO_WAY
        fixed_us = self._round_trip_us // 2 + int((self.under_way + waiting) * self._mean_us_per_kb / BYTES_PER_KB)
        return Way(int(self._mean_us_per_kb), int(self._variance), fixed_us)

    def take(self, size_bytes: int) -> None:
        """So much more is under way."""
        self._sent += size_bytes

    def drain(self, news: LinkDrained, now: Micros) -> None:
        """So much has arrived; and if the link was full, in what time."""
        self._arrived = news.arrived
        if news.busy_us > 0 and news.busy_bytes > 0:
            self._measure(news.busy_us, news.busy_bytes, now)
            fitting = int((WINDOW_US + self._round_trip_us) * BYTES_PER_KB / self._mean_us_per_kb)
            # Little that arrived at once may have found room in a buffer: it does not say that more would.
            trusted = max(self.window, _GROWTH * news.busy_bytes)
            # There is always room for one message more: with that the driver is asked to look again.
            self.window = max(self.under_way + 1, min(WINDOW_BYTES_MAX, fitting, trusted))

    def _measure(self, busy_us: int, busy_bytes: int, now: Micros) -> None:
        """Times and bytes are added up apart, so that a short look counts for little."""
        seen, before = max(_MEAN_MIN, busy_us * BYTES_PER_KB / busy_bytes), self._mean_us_per_kb
        kept = math.exp(-busy_us / _MEMORY_US)
        self._busy_us = kept * self._busy_us + busy_us
        self._busy_bytes = kept * self._busy_bytes + busy_bytes
        self._mean_us_per_kb = max(_MEAN_MIN, self._busy_us * BYTES_PER_KB / self._busy_bytes)
        if before:
            share, off = busy_us / self._busy_us, seen - before
            self._variance = (1.0 - share) * (self._variance + share * off * off)
        if self._busy_us >= _KNOWN_US:
            self._measured_us = now

    def expected_us(self, size_bytes: int) -> Micros:
        """How long until so much more is there, and an answer here: that may wait behind as large a message."""
        return Micros(min(_EXPECTED_US_MAX, int((self.under_way + size_bytes) * self._mean_us_per_kb / BYTES_PER_KB)))
