"""Sets of places in a parcel, each an int, bit by bit.

What happens to many events alike is said and remembered once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from p2psub.model.ids import EventId


def all_places(size: int) -> int:
    """Every place of a parcel of this size."""
    return (1 << size) - 1


def lowest(places: int) -> int:
    """The first of some places."""
    return (places & -places).bit_length() - 1


def runs_of(places: int) -> list[tuple[int, int]]:
    """Places in a row: where each run begins, and how long it is."""
    runs: list[tuple[int, int]] = []
    while places:
        begin = places & -places
        # The carry clears the run, and stands where it ends.
        carried = places + begin
        first = begin.bit_length() - 1
        runs.append((first, (carried & -carried).bit_length() - 1 - first))
        places &= carried
    return runs


def places_in(places: int) -> list[int]:
    """The places one by one."""
    if not places & (places + 1):
        return list(range(places.bit_length()))
    return [place for first, count in runs_of(places) for place in range(first, first + count)]


def indexes_within(places: int, whole: int) -> list[int]:
    """Which of the places of `whole`, counted from its first, these are, as far as they are among them."""
    if whole & (whole + 1):
        return [(whole & ((1 << place) - 1)).bit_count() for place in places_in(places & whole)]
    return places_in(places & whole)


def places_at(places: list[int]) -> int:
    """A list of places as a set."""
    together = 0
    for place in places:
        together |= 1 << place
    return together


def first_places(places: int, count: int) -> int:
    """So many of the places, the lowest."""
    return places if places.bit_count() <= count else places_at(places_in(places)[:count])


def part_of(places: int, size: int) -> int:
    """The first of these places, as far as they fall into one part of the parcel, of so many places each."""
    if size >= places.bit_length():
        return places
    return places & (all_places(size) << lowest(places) // size * size)


def union_of(several: Iterable[int]) -> int:
    """The places that are in any of these sets."""
    together = 0
    for places in several:
        together |= places
    return together


def event_runs(first: EventId, places: int) -> list[tuple[EventId, int | None]]:
    """The events at some places, as a record names them: the first of each run, and how many if there are more."""
    if not places & (places - 1):
        return [(event_at(first, lowest(places)), None)] if places else []
    return [(event_at(first, place), None if count == 1 else count) for place, count in runs_of(places)]


def event_at(first: EventId, place: int) -> EventId:
    """The event at a place, by that at place 0."""
    node, incarnation, sequence = first
    # As `EventId` does it, whose constructor stays interpreted.
    return tuple.__new__(EventId, (node, incarnation, sequence + place))


def to_bitmap(places: int) -> bytes:
    """A set of places as it travels. An empty one has no words: they would stand for all."""
    assert places, "no event is meant"
    return places.to_bytes((places.bit_length() + 7) // 8, "little")


def bitmap_within(places: int, whole: int) -> bytes:
    """The same, where all of `whole` need no words."""
    return b"" if places == whole else to_bitmap(places)


def from_bitmap(bitmap: bytes, whole: int) -> int:
    """A set of places that has arrived, as far as they are of `whole`."""
    return int.from_bytes(bitmap, "little") & whole if bitmap else whole
