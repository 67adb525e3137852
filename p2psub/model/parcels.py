"""Parcels: what a publisher published in one step for one owner, numbered and signed together.

The events of a parcel have sequence numbers in a row, so an event is named by its parcel and its place in it.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec

from p2psub.model.content import Event, Guarantee
from p2psub.model.digests import content_hash
from p2psub.model.ids import EventId, Natural, NodeId
from p2psub.model.merkle import narrow_proof
from p2psub.model.parcel_parts import first_of, places_of
from p2psub.model.place_sets import indexes_within, places_in, to_bitmap
from p2psub.model.seals import BATCH_MAX, Leaf, Signature

Bitmap = Annotated[bytes, msgspec.Meta(max_length=BATCH_MAX // 8)]
"""A set of places as it travels, lowest first. An empty one stands for all that travel with it."""


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
        return places_of(self)

    @property
    def first(self) -> EventId:
        """The id of the event at place 0, whether it is here or not."""
        return first_of(self)

    @property
    def guarantee(self) -> Guarantee:
        return self.events[0].guarantee

    @property
    def timeout_us(self) -> int:
        """Of all its events; 0: none."""
        return self.events[0].timeout_us

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
