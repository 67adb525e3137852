"""A parcel that has arrived at a subscriber, and was checked."""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.content import Event
from p2psub.model.ids import EventId
from p2psub.model.instants import Micros
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import indexes_within
from p2psub.model.seals import Leaf

Hashed = tuple[Event, Leaf]
"""An event and the hash of its content."""


class CheckedParcel:
    """Its events, each with its hash."""

    __slots__ = ("born_us", "first", "leaves", "parcel", "places")

    def __init__(self, parcel: Parcel, first: EventId, places: int, leaves: list[Leaf], born_us: Micros) -> None:
        self.parcel = parcel
        self.first = first
        self.places = places
        self.leaves = leaves
        self.born_us = born_us
        """When they were published, by our clock."""

    def events_at(self, places: int) -> list[Hashed]:
        events, leaves = self.parcel.events, self.leaves
        if places == self.places:
            return list(zip(events, leaves, strict=True))
        return [(events[index], leaves[index]) for index in indexes_within(places, self.places)]


def rows_of(hashed: list[Hashed]) -> Iterator[tuple[int, int]]:
    """Where events of one publisher whose numbers are in a row begin, and how many they are."""
    first = 0
    for index in range(1, len(hashed) + 1):
        if index < len(hashed):
            node, incarnation, sequence = hashed[index - 1][0].id
            if hashed[index][0].id == (node, incarnation, sequence + 1):
                continue
        yield first, index - first
        first = index
