"""What is asked of parcels at every hop: where their events are, whether they are sound, what is promised.

Apart from `Parcel`, for what is decoded is not compiled, and this is (decision 0025).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2psub.model.content import Guarantee
from p2psub.model.ids import EventId
from p2psub.model.place_sets import event_at, lowest, places_in

if TYPE_CHECKING:
    from p2psub.model.parcels import Parcel

_PROMISED: Final = Guarantee.EFFECTIVELY_ONCE
"""Looked up once: a member of an enumeration costs as much as a call."""


def places_of(parcel: Parcel) -> int:
    """Where its events are."""
    bitmap = parcel.bitmap
    return int.from_bytes(bitmap, "little") if bitmap else (1 << parcel.size) - 1


def first_of(parcel: Parcel) -> EventId:
    """The id of the event at place 0, whether it is here or not."""
    first = parcel.events[0].id
    if not parcel.bitmap:
        return first
    return event_at(first, -lowest(places_of(parcel)))


def is_promised(parcel: Parcel) -> bool:
    """Whether its publisher promises its events."""
    return parcel.events[0].guarantee is _PROMISED


def is_sound(parcel: Parcel) -> bool:
    """Whether it is what a publisher could have made: events of one start of one peer, alike, each at its place."""
    events, places = parcel.events, places_of(parcel)
    if not events or places >> parcel.size or places.bit_count() != len(events):
        return False
    node, incarnation, sequence = events[0].id
    base = sequence - lowest(places)
    if base < 0 or len(events) == 1:
        return base >= 0
    guarantee, timeout_us = events[0].guarantee, events[0].timeout_us
    for event, place in zip(events, places_in(places), strict=True):
        if event.id != (node, incarnation, base + place) or event.guarantee is not guarantee:
            return False
        if event.timeout_us != timeout_us:
            return False
    return True
