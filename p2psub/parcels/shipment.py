"""A parcel in the hands of an owner, which passes parts of it on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from p2psub.model.bids import Bid, BidSum, sum_bids
from p2psub.model.content import Draft, Event
from p2psub.model.ids import Contact, Key, NodeId, Process, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.merkle import Tree
from p2psub.model.messages.pubsub import Deliver, Want
from p2psub.model.outcomes import Missed
from p2psub.model.parcel_parts import is_sound, places_of
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import bitmap_within, places_at, places_in, to_bitmap, union_of
from p2psub.model.seals import Leaf


class Shipment:
    """A parcel and, if its publisher sent them along, the leaves of its whole batch."""

    __slots__ = ("_tree", "leaves", "parcel")

    def __init__(self, parcel: Parcel, leaves: tuple[Leaf, ...] = ()) -> None:
        self.parcel = parcel
        self.leaves = leaves
        self._tree: Tree | None = None

    def is_sound(self) -> bool:
        """Whether it is what a publisher could have made."""
        return is_sound(self.parcel) and len(self.leaves) in (0, self.parcel.size)

    def part(self, places: int) -> Parcel:
        """The events at some of its places, with what leads from them to the signature."""
        parcel = self.parcel
        if places == places_of(parcel):
            return parcel
        if not self.leaves:
            return parcel.part(places)
        if self._tree is None:
            self._tree = Tree(self.leaves)
        events, proof = tuple(parcel.events_at(places)), self._tree.proof(places_in(places))
        return Parcel(parcel.number, parcel.size, events, to_bitmap(places), parcel.signature, proof)


Places = tuple[SubscriptionId, int, int, int, Bid | None]
"""A subscription, the places of the events that it wants, number and settled of `Want`, and its bid as it travels."""


def delivery(
    shipment: Shipment,
    age_us: Micros,
    wants: list[Places],
    missed: tuple[Missed, ...],
    owner: Process | None,
    is_repeated: bool = False,
) -> Deliver:
    """What one peer gets: the events that any of its subscriptions wants, and which wants which."""
    needed = union_of([want[1] for want in wants])
    wanted = tuple([want_of(want, needed) for want in wants])
    bids = bids_of(wants, shipment.parcel.events[0].timeout_us)
    return Deliver(shipment.part(needed), age_us, wanted, missed, owner, bids, is_repeated)


def bids_of(wants: list[Places], timeout_us: int) -> tuple[BidSum, ...]:
    """What they bid together for events with this timeout; nothing if all bid what all bid, as mostly."""
    if not timeout_us and not [want for want in wants if want[4] is not None]:
        return ()
    return sum_bids(timeout_us, [(want[4], want[1].bit_count()) for want in wants])


def want_of(want: Places, whole: int) -> Want:
    """The same, as it travels with these events."""
    id_, places, number, settled, bid = want
    deadline_us = 0 if bid is None else bid.deadline_us
    # As `Want` does it, whose constructor stays interpreted.
    return tuple.__new__(Want, (id_, bitmap_within(places, whole), number, settled, deadline_us))


def by_topic(events: Iterable[Event | Draft]) -> dict[str, list[int]]:
    """The indexes of events by their topic: what is true of one is asked once for all."""
    indexes: dict[str, list[int]] = {}
    for index, event in enumerate(events):
        of_topic = indexes.get(event.topic)
        if of_topic is None:
            indexes[event.topic] = [index]
        else:
            of_topic.append(index)
    return indexes


def places_by_owner(parcel: Parcel, owner_of: Callable[[Key], Contact | None]) -> dict[NodeId | None, tuple[Key, int]]:
    """By the owner of their keys, if there is one: one of the keys, and the places of all such events."""
    found: dict[NodeId | None, tuple[Key, int]] = {}
    for indexes in by_topic(parcel.events).values():
        key = parcel.events[indexes[0]].key
        owner = owner_of(key)
        name = None if owner is None else owner.id
        first, places = found.get(name, (key, 0))
        found[name] = (first, places | places_of_indexes(indexes, parcel))
    return found


def places_of_indexes(indexes: list[int], parcel: Parcel) -> int:
    """The places of events of a parcel that are counted as they stand in it."""
    if len(indexes) == len(parcel.events):
        return places_of(parcel)
    if not parcel.bitmap:
        return places_at(indexes)
    places = places_in(places_of(parcel))
    return places_at([places[index] for index in indexes])
