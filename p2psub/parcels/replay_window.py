"""Numbers that were seen before, in constant memory: the sliding window of IPsec (RFC 4303, 3.4.3)."""

from __future__ import annotations

from typing import Final

from p2psub.model.ids import Contact
from p2psub.model.parcels import Parcel
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step

WINDOW: Final = 1024
"""How far numbers may overtake each other."""

_MASK: Final = (1 << WINDOW) - 1

_WINDOWS_MAX: Final = 1 << 14
"""Windows that are remembered. Links repeat nothing, so it is a second guard that forgets here."""


class ReplayWindow:
    """Takes every number once; what is older than the window counts as seen."""

    __slots__ = ("_highest", "_seen")

    def __init__(self) -> None:
        self._highest = -1
        self._seen = 0

    def takes(self, number: int) -> bool:
        """Whether a number is new; from now on it is not."""
        ahead = number - self._highest
        if ahead > 0:
            self._seen = 1 if ahead >= WINDOW else (self._seen << ahead | 1) & _MASK
            self._highest = number
            return True
        if -ahead >= WINDOW or self._seen >> -ahead & 1:
            return False
        self._seen |= 1 << -ahead
        return True


class ReplayWindows:
    """One window for each start of a publisher and each way by which its parcels come."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._windows: dict[tuple[object, ...], ReplayWindow] = {}

    def is_new(self, parcel: Parcel, peer: Contact, *way: object) -> bool:
        """Whether a parcel comes by this way for the first time; a repeated one is recorded."""
        first = parcel.events[0].id
        name = (first.node, first.incarnation, *way)
        window = self._windows.pop(name, None) or ReplayWindow()
        # Last in the order of use, so the first is the one that was silent for longest.
        self._windows[name] = window
        if len(self._windows) > _WINDOWS_MAX:
            del self._windows[next(iter(self._windows))]
        if window.takes(parcel.number):
            return True
        self._step.record(Kind.DUPLICATE, peer=peer.id, reason=Reason.PARCEL_REPEATED, count=len(parcel.events))
        return False
