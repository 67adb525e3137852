"""Parcels: what a publisher published in one step for one owner, numbered and signed together.

The events of a parcel have sequence numbers in a row, so an event is named by its parcel and its place in it.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import msgspec

from p2psub.model.content import Event, Guarantee
from p2psub.model.digests import content_hash
from p2psub.model.ids import EventId, Natural, NodeId
from p2psub.model.merkle import narrow_proof
from p2psub.model.place_sets import indexes_within, lowest, places_in, to_bitmap
from p2psub.model.seals import BATCH_MAX, Leaf, Signature

Bitmap = Annotated[bytes, msgspec.Meta(max_length=BATCH_MAX // 8)]
"""A set of places as it travels, lowest first. An empty one stands for all that travel with it."""


_MEASURED_MAX: Final = 8
"""Events of a parcel that are measured to tell its weight. A guess: what one process publishes in one step is alike."""
_BODY_HEAD: Final = 3
"""What MessagePack puts before a body, or a byte or two more."""
_encoder: Final = msgspec.msgpack.Encoder()


class ParcelId(NamedTuple):
    """One start of one publisher, and the number of its parcel."""

    node: NodeId
    incarnation: Natural
    number: Natural


class Parcel(msgspec.Struct, frozen=True, array_like=True):
    """Some or all of the `size` events of a parcel, at `places`; the proof leads from them to what was signed."""

    number: Natural
    size: Annotated[int, msgspec.Meta(ge=1, le=BATCH_MAX)]
    events: Annotated[tuple[Event, ...], msgspec.Meta(min_length=1)]
    bitmap: Bitmap = b""
    signature: Signature | None = None
    proof: tuple[Leaf, ...] = ()

    @property
    def id(self) -> ParcelId:
        node, incarnation, _ = self.events[0].id
        return ParcelId(node, incarnation, self.number)

    @property
    def places(self) -> int:
        """Where its events are."""
        return int.from_bytes(self.bitmap, "little") if self.bitmap else (1 << self.size) - 1

    @property
    def first(self) -> EventId:
        """The id of the event at place 0, whether it is here or not."""
        first = self.events[0].id
        if not self.bitmap:
            return first
        return EventId(first.node, first.incarnation, first.sequence - lowest(self.places))

    @property
    def guarantee(self) -> Guarantee:
        return self.events[0].guarantee

    @property
    def timeout_us(self) -> int:
        """Of all its events; 0: none."""
        return self.events[0].timeout_us

    @property
    def weight(self) -> int:
        """Its bytes on a link, or a few more or less."""
        beside = (self.number, self.size, self.bitmap, self.signature, self.proof)
        return measured(beside) + weight_of_events(self.events)

    def is_sound(self) -> bool:
        """Whether it is what a publisher could have made: events of one start of one peer, alike, each at its place."""
        events = self.events
        places = self.places
        if not events or places >> self.size or places.bit_count() != len(events):
            return False
        node, incarnation, sequence = events[0].id
        base, guarantee, timeout_us = sequence - lowest(places), events[0].guarantee, events[0].timeout_us
        if base < 0 or len(events) == 1:
            return base >= 0
        for event, place in zip(events, places_in(places), strict=True):
            if event.id != (node, incarnation, base + place) or event.guarantee is not guarantee:
                return False
            if event.timeout_us != timeout_us:
                return False
        return True

    def events_at(self, places: int) -> list[Event]:
        """The events at some of its places."""
        events = self.events
        return [events[index] for index in indexes_within(places, self.places)]

    def part(self, places: int) -> Parcel:
        """The events at some of its places, with what leads from them to the signature.

        One whose own proof is wrong stays whole: its receivers refuse it as they would refuse every part.
        """
        if places == self.places:
            return self
        proof: tuple[Leaf, ...] | None = ()
        if self.signature is not None:
            leaves = dict(zip(places_in(self.places), map(content_hash, self.events), strict=True))
            proof = narrow_proof(self.size, leaves, self.proof, places_in(places))
        if proof is None:
            return self
        events = tuple(self.events_at(places))
        return Parcel(self.number, self.size, events, to_bitmap(places), self.signature, proof)


def weight_of_events(events: tuple[Event, ...]) -> int:
    """Their bytes on a link, or a few more or less: of many events all bodies, and the rest of some in even steps."""
    if len(events) == 1:
        return 1 + len(events[0].body) + _beside_body(events[0])
    some = events[:: -(-len(events) // _MEASURED_MAX)]
    beside = 1 + sum([_beside_body(event) for event in some])
    return sum([len(event.body) for event in events]) + beside * len(events) // len(some)


def _beside_body(e: Event) -> int:
    return _BODY_HEAD + measured((e.id, e.topic, e.attributes, e.retain_us, e.guarantee, e.timeout_us))


def measured(part: object) -> int:
    """Bytes of what is small beside the bodies, by the encoder itself."""
    return len(_encoder.encode(part))
