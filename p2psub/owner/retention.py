"""Discharged events that their retention class keeps for late subscribers (QoS 3.1): here, bounded and in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from p2psub.model.content import Event
from p2psub.model.instants import Micros
from p2psub.model.parcels import Parcel, ParcelId
from p2psub.model.place_sets import first_places, places_in


class Recent:
    """At most `most` events, each until its retention ends; the oldest make room."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._parcels: deque[tuple[Parcel, Micros]] = deque()
        self._places: dict[ParcelId, int] = {}

    def __len__(self) -> int:
        return self._count

    def retain(self, parcel: Parcel, places: int, born_us: Micros, now: Micros) -> None:
        """Keep those events of a parcel whose class asks for it and whose time is not over, each once."""
        kept = self._places.get(parcel.id, 0)
        places &= ~kept
        places = places_where(parcel, places, lambda event: bool(event.retain_us) and born_us + event.retain_us > now)
        part = parcel.part(places) if places else None
        # One whose proof is wrong has no parts: no subscriber would take them.
        if part is not None and part.places == places:
            self._parcels.append((part, born_us))
            self._places[parcel.id] = kept | places
            self._count += places.bit_count()
            while self._count > self._most:
                self._make_room(*self._parcels.popleft())

    def _make_room(self, parcel: Parcel, born_us: Micros) -> None:
        """Let go of the oldest, or of as many of its events as are too many."""
        gone = first_places(parcel.places, self._count - self._most)
        if gone != parcel.places:
            self._parcels.appendleft((parcel.part(parcel.places & ~gone), born_us))
        self._forget(parcel, gone)

    def _forget(self, parcel: Parcel, places: int) -> None:
        self._count -= places.bit_count()
        self._places[parcel.id] &= ~places
        if not self._places[parcel.id]:
            del self._places[parcel.id]

    def wanted(self, wants: Callable[[Event], bool], now: Micros) -> list[tuple[Parcel, Micros]]:
        """What is still retained and wanted, oldest first, each with its age."""
        found: list[tuple[Parcel, Micros]] = []
        parcels, self._parcels = self._parcels, deque()
        for parcel, born in parcels:

            def is_due(event: Event, born: Micros = born) -> bool:
                return born + event.retain_us > now

            due = places_where(parcel, parcel.places, is_due)
            if not due:
                self._forget(parcel, parcel.places)
                continue
            self._parcels.append((parcel, born))
            places = places_where(parcel, due, wants)
            if places:
                found.append((parcel.part(places), Micros(now - born)))
        return found


def places_where(parcel: Parcel, places: int, is_so: Callable[[Event], bool]) -> int:
    """Those of some places whose events are so."""
    found = 0
    for event, place in zip(parcel.events, places_in(parcel.places), strict=True):
        if places >> place & 1 and is_so(event):
            found |= 1 << place
    return found
