"""What became of a message that a core asked to send: it waits for its link, it left, or it is lost.

A core that repeats what is not answered asks for one with `Step.send_followed`, and the egress writes into it. So the
core's patience counts from when the message left, and what the link then needs; what waits is not sent again.
"""

from __future__ import annotations

from typing import Final

_WORD_TICKS_MAX: Final = 192
"""How long the word of a receiver is believed at most: it must not have forgotten what it answered. A guess."""


class Transmission:
    """One message on its way to its link.

    Until the egress says otherwise it counts as gone at once: so does what a node says to itself.
    """

    __slots__ = ("_asked_tick", "_counts_tick", "is_lost", "is_waiting")

    def __init__(self, tick: int) -> None:
        self._asked_tick = tick
        self._counts_tick = tick
        """From when on an answer is waited for."""
        self.is_waiting = False
        self.is_lost = False
        """It never left: its link ended, its queue was full, or its time was over."""

    def wait(self) -> None:
        """The link does not take it now."""
        self.is_waiting = True

    def leave(self, tick: int, link_ticks: int) -> None:
        """The link has taken it, and needs so long to carry it and what may be ahead of the answer."""
        self.is_waiting = False
        self._counts_tick = max(self._counts_tick, tick + link_ticks)

    def lose(self, tick: int) -> None:
        """It never leaves."""
        self.is_waiting, self.is_lost = False, True
        self._counts_tick = tick

    def confirm(self, tick: int) -> None:
        """Its receiver has it, and is at it still: it may take as long again as it took so far, within bounds."""
        self.is_waiting = self.is_lost = False
        self._counts_tick = max(self._counts_tick, tick + min(tick - self._asked_tick, _WORD_TICKS_MAX))

    def doubt(self, tick: int) -> None:
        """Its receiver may be gone: what it confirmed counts no more."""
        self._counts_tick = min(self._counts_tick, tick)

    @property
    def late_ticks(self) -> int:
        """How much longer an answer takes than on an idle link: the time in the queue and on the link."""
        return 0 if self.is_lost else self._counts_tick - self._asked_tick

    def is_due(self, tick: int, patience_ticks: int, tries: int = 1) -> bool:
        """Whether to send it again: its answer is late, or it is lost.

        What is lost is sent again at the next tick, and if that was in vain ever later.
        """
        if self.is_waiting:
            return False
        patience = min(tries, patience_ticks) if self.is_lost else patience_ticks
        return tick - self._counts_tick >= patience
