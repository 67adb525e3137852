"""A parcel in the hands of an owner, which passes parts of it on."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from p2psub.model.content import Event
from p2psub.model.ids import SubscriptionId
from p2psub.model.merkle import Tree
from p2psub.model.messages.pubsub import Parcel, ParcelToSubscriber
from p2psub.model.seals import BATCH_MAX, Leaf, Seal


class Shipment:
    """A parcel and the leaves of its batch. Indexes count the events that are here, places those that were signed."""

    __slots__ = ("_tree", "leaves", "parcel")

    def __init__(self, parcel: Parcel, leaves: tuple[Leaf, ...]) -> None:
        self.parcel = parcel
        self.leaves = leaves
        self._tree: Tree | None = None

    def is_sound(self) -> bool:
        """Whether it is what a publisher could have made: some events of one start of one peer, each at its place."""
        parcel, events = self.parcel, self.parcel.events
        places = parcel.places or range(parcel.size)
        if not events or parcel.size > BATCH_MAX or len(self.leaves) not in (0, parcel.size):
            return False
        if len(places) != len(events) or max(places) >= parcel.size or len(set(places)) != len(places):
            return False
        node, incarnation, _ = events[0].id
        return all(event.id.node == node and event.id.incarnation == incarnation for event in events)

    def delivery(self, wants: list[tuple[SubscriptionId, list[int]]]) -> ParcelToSubscriber:
        """What one peer gets: the events that any of its subscriptions wants, and which wants which."""
        needed = wants[0][1] if len(wants) == 1 else sorted({index for _, indexes in wants for index in indexes})
        index_of = {index: new for new, index in enumerate(needed)}
        wanted = tuple(
            (id_, () if len(indexes) == len(needed) else tuple([index_of[index] for index in indexes]))
            for id_, indexes in wants
        )
        return ParcelToSubscriber(self.part(needed), wanted)

    def part(self, indexes: list[int]) -> Parcel:
        """Some of the events, with what leads from them to the signature."""
        parcel = self.parcel
        if len(indexes) == len(parcel.events):
            return parcel
        places = tuple([self._place(index) for index in indexes])
        proof = self._hashes().proof(places) if self.leaves else ()
        events = tuple([parcel.events[index] for index in indexes])
        return Parcel(parcel.number, events, parcel.size, places, parcel.signature, proof)

    def event(self, index: int) -> Event:
        """One of the events, sealed so that it can travel alone."""
        event, signature = self.parcel.events[index], self.parcel.signature
        if signature is None or not self.leaves:
            return event
        place = self._place(index)
        seal = Seal(signature, self.parcel.size, place, self._hashes().proof([place]), self.parcel.number)
        return msgspec.structs.replace(event, seal=seal)

    def _place(self, index: int) -> int:
        return self.parcel.places[index] if self.parcel.places else index

    def _hashes(self) -> Tree:
        if self._tree is None:
            self._tree = Tree(self.leaves)
        return self._tree


def by_topic(events: Iterable[Event]) -> dict[str, list[int]]:
    """The indexes of events by their topic: what is true of one is asked once for all."""
    indexes: dict[str, list[int]] = {}
    for index, event in enumerate(events):
        indexes.setdefault(event.topic, []).append(index)
    return indexes
