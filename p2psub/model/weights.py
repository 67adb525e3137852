"""What parcels, filters and changes weigh on a link: their bytes, or a few more or less.

Apart from what is weighed, for what is decoded is not compiled, and this is (decision 0025).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from p2psub.model.changes import Change
    from p2psub.model.content import Event, Filter, Predicate
    from p2psub.model.messages.pubsub import OwedParcel
    from p2psub.model.parcels import Parcel

_MEASURED_MAX: Final = 8
"""Events of a parcel that are measured to tell its weight. A guess: what one process publishes in one step is alike."""
_BODY_HEAD: Final = 3
"""What MessagePack puts before a body, or a byte or two more."""
_PREDICATE_BYTES: Final = 24
"""What a predicate takes beside its attribute and its constant."""
_CHANGE_BYTES: Final = 192
"""What a change takes without its filter: five ids and two names."""
_encoder: Final = msgspec.msgpack.Encoder()


def weight_of_parcel(parcel: Parcel, *beside: object) -> int:
    """With what travels beside it."""
    events = parcel.events
    rest: list[object] = [*beside, parcel.number, parcel.size, parcel.bitmap, parcel.signature, parcel.proof]
    if len(events) > _MEASURED_MAX:
        return measured(rest) + weight_of_events(events)
    # The same at once.
    rest.append(_beside_bodies(events))
    return measured(rest) + _BODY_HEAD * len(events) + _bytes_of_bodies(events)


def weight_of_owed(told: OwedParcel) -> int:
    """With what it owes."""
    beside = (told.matches, told.age_us, told.owed, told.matched, told.vector, told.publisher)
    return weight_of_parcel(told.parcel, beside)


def weight_of_events(events: tuple[Event, ...]) -> int:
    """Of many events all bodies, and the rest of some in even steps."""
    some = events[:: -(-len(events) // _MEASURED_MAX)]
    beside = _BODY_HEAD * len(some) + measured(_beside_bodies(some))
    return _bytes_of_bodies(events) + beside * len(events) // len(some)


def _beside_bodies(events: tuple[Event, ...]) -> list[object]:
    return [(e.id, e.topic, e.attributes, e.retain_us, e.guarantee, e.timeout_us) for e in events]


def _bytes_of_bodies(events: tuple[Event, ...]) -> int:
    return sum([len(event.body) for event in events])


def measured(part: object) -> int:
    """Bytes of what is small beside the bodies, by the encoder itself."""
    return len(_encoder.encode(part))


def weight_of_predicate(predicate: Predicate) -> int:
    """Not less than it takes."""
    return _PREDICATE_BYTES + _bytes_of(predicate.attribute) + _bytes_of(predicate.constant)


def weight_of_filter(wanted: Filter) -> int:
    """Not less than it takes. What occurs often counts as often: so it travels."""
    return sum([weight_of_predicate(predicate) for conjunction in wanted.conjunctions for predicate in conjunction])


def _bytes_of(value: object) -> int:
    """What a value takes at most."""
    if isinstance(value, str):
        return 5 + (len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass")))
    if isinstance(value, frozenset):
        return 5 + sum(map(_bytes_of, value))
    return 16


def weight_of_change(change: Change) -> int:
    """Roughly what it takes."""
    return _CHANGE_BYTES + weight_of_filter(change.record.filter)


def weight_of_changes(changes: Iterable[Change]) -> int:
    """Roughly what they take together."""
    return sum([weight_of_change(change) for change in changes])
