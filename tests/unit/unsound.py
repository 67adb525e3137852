"""Parcels that no publisher could have made: of every kind that the wire lets through."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from p2psub.model.content import Event, Guarantee
from p2psub.model.ids import EventId
from p2psub.model.parcels import Parcel
from tests.unit.bench import bits, event_of, node_at

NUMBER_MAX = (1 << 63) - 1


def unsound_parcels(event: Callable[[int], Event]) -> dict[str, Parcel]:
    """By what is wrong with each; `event` makes the n-th event of a sound one."""
    sound = Parcel(1, 3, tuple(event(n) for n in (1, 2, 3)))

    def altered(**changes: object) -> Parcel:
        return msgspec.structs.replace(sound, **changes)

    def with_last(**changes: object) -> Parcel:
        return altered(events=(*sound.events[:2], msgspec.structs.replace(event(3), **changes)))

    first = event(1)
    node, other = first.id.node, node_at(first.id.node[0] + 1)
    promise = Guarantee.AT_MOST_ONCE if first.guarantee is Guarantee.EFFECTIVELY_ONCE else Guarantee.EFFECTIVELY_ONCE
    return {
        "fewer events than it says": altered(events=sound.events[:2]),
        "more events than it says": altered(size=2),
        "a place beyond its size": altered(bitmap=bits(0, 1, 3)),
        "a place far beyond its size": altered(bitmap=bits(0, 1, 255)),
        "fewer places than events": altered(bitmap=bits(0, 1)),
        "more places than events": altered(size=4, bitmap=bits(0, 1, 2, 3)),
        "no places": altered(bitmap=b"\x00"),
        "a gap in the numbers": with_last(id=EventId(node, 1, 4)),
        "one number twice": with_last(id=EventId(node, 1, 2)),
        "numbers turned around": altered(events=sound.events[::-1]),
        "numbers at other places": altered(size=5, bitmap=bits(0, 1, 4)),
        "a first number below 0": altered(size=9, bitmap=bits(4, 5, 6), events=tuple(event(n) for n in (0, 1, 2))),
        "numbers that end before its places": with_last(id=EventId(node, 1, NUMBER_MAX)),
        "events of two starts": with_last(id=EventId(node, 2, 3)),
        "events of two publishers": with_last(id=EventId(other, 1, 3)),
        "two guarantees": with_last(guarantee=promise),
    }


UNSOUND = unsound_parcels(lambda n: event_of("x", n))
