"""Events of one parcel that a member holds together, with what they owe.

All of them have the same owner by the table that the member follows: a table that gives their keys to several owners
cuts them apart. What is known of them is kept as sets of places, so most of it is one int for up to 256 events.

Before events are held their matches are gathered (`Matchmaker`); from then on their life is a table of stages.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final

from p2psub.model.ages import older
from p2psub.model.bids import NO_BID, is_late
from p2psub.model.ids import ClusterId, EventId, Key, NodeId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Acknowledged, Obligation, OwedHead, OwedParcel, OwedParcelId
from p2psub.model.parcel_parts import first_of, places_of
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import bitmap_within, event_runs, from_bitmap, to_bitmap, union_of
from p2psub.model.places import TableVersion
from p2psub.model.transmission import Transmission
from p2psub.parcels.shipment import by_topic, places_of_indexes

OVERHEAD_BYTES: Final = 256
"""What an event costs beside its body. A guess."""


class HeldStage(enum.StrEnum):
    """How safe held events are."""

    TAKEN = "taken"
    """Given to the store."""
    STORED = "stored"
    """Durable here."""
    COPIED = "copied"
    """Ours, with all copies that an acknowledgement needs: its publisher is told, and they are paid."""
    DISCHARGED = "discharged"
    """They owed nothing any more."""
    RELEASED = "released"
    """Other members see to them, or they are lost here."""


class HeldTurn(enum.StrEnum):
    """What happens to held events."""

    DURABLE = "they are durable here"
    ENOUGH_COPIES = "they are ours, and as many members hold them as an acknowledgement needs"
    NEW_TABLE = "a new table: no statement of a copy counts any more"
    PAID = "they owe nothing any more"
    LET_GO = "they are let go"


_STAGES: Final[dict[tuple[HeldStage, HeldTurn], HeldStage]] = {
    (HeldStage.TAKEN, HeldTurn.DURABLE): HeldStage.STORED,
    (HeldStage.TAKEN, HeldTurn.NEW_TABLE): HeldStage.TAKEN,
    (HeldStage.TAKEN, HeldTurn.PAID): HeldStage.DISCHARGED,
    (HeldStage.TAKEN, HeldTurn.LET_GO): HeldStage.RELEASED,
    (HeldStage.STORED, HeldTurn.ENOUGH_COPIES): HeldStage.COPIED,
    (HeldStage.STORED, HeldTurn.NEW_TABLE): HeldStage.STORED,
    (HeldStage.STORED, HeldTurn.PAID): HeldStage.DISCHARGED,
    (HeldStage.STORED, HeldTurn.LET_GO): HeldStage.RELEASED,
    (HeldStage.COPIED, HeldTurn.NEW_TABLE): HeldStage.STORED,
    (HeldStage.COPIED, HeldTurn.PAID): HeldStage.DISCHARGED,
    (HeldStage.COPIED, HeldTurn.LET_GO): HeldStage.RELEASED,
}
"""What the table does not name cannot happen. Another owner's word may discharge what is not copied by our count."""

_ENDS: Final = (HeldStage.DISCHARGED, HeldStage.RELEASED)
"""Where it is held no more."""


class HeldPack:
    """A pack of the store's log; it is erased when nothing of it is held any more."""

    __slots__ = ("number", "places")

    def __init__(self, number: int, places: int) -> None:
        self.number = number
        self.places = places


def head_of(owed_parcel: OwedParcel, written_us: int) -> OwedHead:
    """What stays in memory when the events themselves do not."""
    parcel, events = owed_parcel.parcel, owed_parcel.parcel.events
    retained = places_of_indexes([index for index, event in enumerate(events) if event.retain_us > 0], parcel)
    everything = to_bitmap(places_of(parcel))
    topics = by_topic(events).values()
    keys = [(events[some[0]].key, to_bitmap(places_of_indexes(some, parcel))) for some in topics]
    return OwedHead(
        written_us,
        owed_parcel.age_us,
        owed_parcel.id,
        first_of(parcel),
        tuple(keys),
        tuple([o if o.bitmap else _of_all(o, everything) for o in owed_parcel.owed]),
        tuple([(n, bitmap or everything) for n, bitmap in owed_parcel.matched]),
        to_bitmap(retained) if retained else b"",
        sum([len(event.body) for event in events]) // len(events),
        owed_parcel.vector,
        owed_parcel.publisher,
        events[0].timeout_us,
    )


def _of_all(owed: Obligation, everything: bytes) -> Obligation:
    return Obligation(owed.subscription, owed.cluster, everything, owed.is_ordered, owed.bid)


def places_of_keys(head: OwedHead) -> int:
    """All places that a pack holds."""
    return union_of(int.from_bytes(bitmap, "little") for _, bitmap in head.keys)


def _owed(head: OwedHead, places: int) -> dict[SubscriptionId, tuple[ClusterId, int]]:
    """To whom which of the places are owed."""
    owed: dict[SubscriptionId, tuple[ClusterId, int]] = {}
    for obligation in head.owed:
        some = int.from_bytes(obligation.bitmap, "little") & places
        if some:
            owed[obligation.subscription] = (obligation.cluster, some)
    return owed


def _counted_once(head: OwedHead, places: int) -> list[tuple[int, int]]:
    """How many subscriptions want an event, and which of the places that are: each counts once, whoever told us."""
    matched: list[tuple[int, int]] = []
    uncounted = places
    for n, bitmap in head.matched:
        some = int.from_bytes(bitmap, "little") & uncounted
        if some:
            matched.append((n, some))
            uncounted ^= some
    return matched


class HeldParcel:
    """What we hold of a parcel, and what we know of its copies and of what it owes."""

    __slots__ = (
        "_head",
        "age_tick",
        "asked",
        "asked_places",
        "bids",
        "body_bytes",
        "born_us",
        "first",
        "held_by",
        "id",
        "is_held",
        "is_recorded",
        "kept_tick",
        "key",
        "keys",
        "look_tick",
        "matched",
        "ordered",
        "owed",
        "pack",
        "parcel",
        "places",
        "publisher",
        "refused_by",
        "requests",
        "retained",
        "spooled",
        "stage",
        "taken_tick",
        "timeout_us",
        "told_by",
        "vector",
    )

    def __init__(
        self, head: OwedHead, places: int, pack: HeldPack, born_us: Micros, tick: int, parcel: Parcel | None = None
    ) -> None:
        self._head = head
        self.id: OwedParcelId = head.id
        self.parcel = parcel
        """The events are among those of it; none if they are in the store alone."""
        self.places = places
        self.first: EventId = head.first
        keys = [(key, int.from_bytes(bitmap, "little") & places) for key, bitmap in head.keys]
        self.keys = [(key, some) for key, some in keys if some]
        self.key: Key = self.keys[0][0]
        """Of one of the events: all of them have the same owner."""
        self.born_us = born_us
        self.pack = pack
        self.vector = head.vector
        self.publisher = head.publisher
        self.retained = int.from_bytes(head.retained, "little") & places
        """The events whose class keeps them when they owe nothing any more."""
        self.body_bytes = head.body_bytes
        self.owed = _owed(head, places)
        """To whom which of the events are still owed."""
        self.ordered = {obligation.subscription: None for obligation in head.owed if obligation.is_ordered}
        """The subscriptions that get events in the order of their publishers."""
        self.bids = {one.subscription: one.bid for one in head.owed if one.bid is not None}
        """Of the subscriptions that do not bid what all bid."""
        self.timeout_us = head.timeout_us
        self.matched = _counted_once(head, places)
        """How many subscriptions want an event, and which events those are."""
        self.stage = HeldStage.TAKEN
        self.is_held = True
        self.held_by: dict[NodeId, tuple[TableVersion | None, int]] = {}
        """Members that stated a durable copy, by which table, and of which events."""
        self.told_by: NodeId | None = None
        """Which member asked us for a copy last."""
        self.asked: dict[NodeId, None] | None = None
        """Members that we asked for a copy; None if others may have asked some before us."""
        self.refused_by: dict[NodeId, None] = {}
        """Members whose disks take nothing at present."""
        self.requests: list[Transmission] = []
        """What became of the last requests for a copy."""
        self.taken_tick = tick
        self.kept_tick = 0
        """When we last asked another member to hold it, or were asked."""
        self.look_tick = 0
        """When to see whether it is where it belongs."""
        self.age_tick = 0
        """When to see whether it is too old to be paid; 0 if never."""
        self.is_recorded = False
        self.asked_places = 0
        """The events whose publisher waits for an acknowledgement from us."""
        self.spooled: dict[ClusterId, int] = {}
        """By which number the spool knows what is kept of it for a cluster."""

    @property
    def event_bytes(self) -> int:
        """What one of the events takes, on average."""
        return OVERHEAD_BYTES + self.body_bytes

    @property
    def is_asking(self) -> bool:
        """Whether a request for a copy waits for its link."""
        return any(request.is_waiting for request in self.requests)

    def turn(self, turn: HeldTurn) -> None:
        """Something happened to it."""
        self.stage = _STAGES[self.stage, turn]
        self.is_held = self.stage not in _ENDS

    # Copies

    def state(self, member: NodeId, table: TableVersion | None, places: int) -> None:
        """A member holds these events durably, by its table."""
        known = self.held_by.get(member)
        together = known[1] if known is not None and known[0] == table else 0
        self.held_by[member] = (table, together | places & self.places)

    def is_held_by(self, member: NodeId) -> bool:
        """Whether a member stated copies of all the events."""
        stated = self.held_by.get(member)
        return stated is not None and stated[1] == self.places

    @property
    def copies(self) -> int:
        """How many members hold all of it."""
        return sum([places == self.places for _, places in self.held_by.values()])

    # What is owed

    def settle(self, subscription: SubscriptionId, places: int) -> int:
        """These events have an outcome for a subscription; returns those that were owed to it."""
        cluster, owed = self.owed.get(subscription, ("", 0))
        settled = owed & places
        if settled:
            if settled == owed:
                del self.owed[subscription]
            else:
                self.owed[subscription] = (ClusterId(cluster), owed ^ settled)
        return settled

    @property
    def is_pressed(self) -> bool:
        """Whether time may matter to it."""
        return self.timeout_us > 0 or bool(self.bids)

    def is_late_for(self, subscription: SubscriptionId, now: Micros) -> bool:
        """Whether its time for a subscription is over."""
        if not self.is_pressed:
            return False
        return is_late(self.age_us(now), self.timeout_us, self.bids.get(subscription, NO_BID).deadline_us)

    def late(self, now: Micros) -> list[tuple[SubscriptionId, int]]:
        """To whom it is owed although its time is over, and which of the events."""
        if 0 < self.timeout_us < self.age_us(now):
            return [(id_, places) for id_, (_, places) in self.owed.items()]
        return [(id_, self.owed[id_][1]) for id_ in self.bids if id_ in self.owed and self.is_late_for(id_, now)]

    def next_limit_us(self, age_us: int) -> int | None:
        """The age above this at which its time is over for one of those to whom it is owed; None: there is none."""
        limits = [bid.deadline_us for id_, bid in self.bids.items() if id_ in self.owed]
        return min([limit for limit in (self.timeout_us, *limits) if limit >= max(1, age_us)], default=None)

    def unite(self, told: OwedParcel, now: Micros) -> None:
        """Another copy of it: what has ended there has ended here, and the larger age counts."""
        self.born_us = min(self.born_us, Micros(now - told.age_us))
        whole = places_of(told.parcel)
        still = {o.subscription: from_bitmap(o.bitmap, whole) for o in told.owed}
        for subscription in list(self.owed):
            self.settle(subscription, whole & ~still.get(subscription, 0))

    def as_owed(self, parcel: Parcel, now: Micros) -> OwedParcel:
        """As it stands: older, and owing only what is still owed; the parcel is what its pack holds."""
        places = self.places
        part = parcel if places == places_of(parcel) else parcel.part(places)
        return OwedParcel(
            self.id.matches,
            part,
            self.age_us(now),
            tuple(
                [
                    Obligation(id_, cluster, bitmap_within(owed, places), id_ in self.ordered, self.bids.get(id_))
                    for id_, (cluster, owed) in self.owed.items()
                ]
            ),
            tuple([(n, bitmap_within(some, places)) for n, some in self.matched]),
            self.vector,
            self.publisher,
        )

    def age_us(self, now: Micros) -> Micros:
        """How long ago the events were published."""
        return older(Micros(0), now - self.born_us)

    # Cutting

    def split(self, places: int) -> HeldParcel:
        """Take some of the events apart: they are held as this was, and this holds the rest."""
        other = HeldParcel(self._head, places, self.pack, self.born_us, self.taken_tick, self.parcel)
        other.told_by, other.asked = self.told_by, None if self.asked is None else dict(self.asked)
        other.refused_by = dict(self.refused_by)
        other.kept_tick, other.look_tick = self.kept_tick, self.look_tick
        other.is_recorded, other.stage = self.is_recorded, self.stage
        for piece, some in ((other, places), (self, self.places & ~places)):
            piece.places = some
            piece.owed = {id_: (c, owed & some) for id_, (c, owed) in self.owed.items() if owed & some}
            piece.matched = [(n, of_n & some) for n, of_n in self.matched if of_n & some]
            piece.held_by = {node: (table, held & some) for node, (table, held) in self.held_by.items()}
            piece.asked_places = self.asked_places & some
            piece.keys = [(key, of_key & some) for key, of_key in self.keys if of_key & some]
            piece.key, piece.retained = piece.keys[0][0], self.retained & some
        return other

    # What is told of it

    def acknowledged(self, places: int) -> Iterable[Acknowledged]:
        """What the publisher is told of some of the events."""
        copies = self.copies
        return [Acknowledged(to_bitmap(of_n & places), copies, n) for n, of_n in self.matched if of_n & places]

    def runs(self, places: int | None = None) -> list[tuple[EventId, int | None]]:
        """All or some of the events, as records name them."""
        return event_runs(self.first, self.places if places is None else places)
