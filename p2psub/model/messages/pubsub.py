"""Declare, publish, store copies, deliver. docs/protocol/messages.md lists which node repeats what."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import msgspec

from p2psub.model.changes import Vector
from p2psub.model.content import Declaration, Event, Timed
from p2psub.model.ids import ClusterId, Contact, EventId, Natural, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.base import SMALL, Lane, Message
from p2psub.model.outcomes import Missed, Outcome, PublishOutcome, VerdictStatus
from p2psub.model.places import TableVersion
from p2psub.model.seals import Leaf, Signature


class Declare(Message, frozen=True):
    """A peer to its super-node: an active record to add or an ended one to end; repeated until the verdict."""

    record: Declaration


class Verdict(Message, frozen=True):
    """The super-node's word on a declaration; a later one may upgrade `accepted` to `stable`."""

    id: SubscriptionId
    version: int
    status: VerdictStatus
    unreached: tuple[ClusterId, ...]


class Publish(Message, frozen=True):
    """A publisher to the owner of the topic; repeated from the outbox until acknowledged."""

    lane: ClassVar[Lane] = Lane.CONTENT
    timed: Timed

    @property
    def weight(self) -> int:
        return SMALL + self.timed.weight

    def aged(self, by_us: int) -> Publish:
        return msgspec.structs.replace(self, timed=self.timed.aged(by_us))


class Acknowledge(Message, frozen=True):
    """Stored in `copies` places; from here on the event is the cluster's."""

    outcome: PublishOutcome


class NotOwner(Message, frozen=True):
    """The event's key is not (or not yet) the receiver's; names the owner, if known."""

    event: EventId
    owner: Contact | None


class Obligation(msgspec.Struct, frozen=True, array_like=True):
    """A matched subscription to which the event is owed."""

    subscription: SubscriptionId
    cluster: ClusterId


class OwedEventId(NamedTuple):
    """An event and a digest of the subscriptions it was matched with.

    Two owners parted by a cut may store one event with different matches: two owed events, each paid on its own.
    """

    event: EventId
    matches: bytes


class OwedEvent(msgspec.Struct, frozen=True, array_like=True):
    """An event as its holders keep it: with what it owes, and the change vector it was matched against."""

    id: OwedEventId
    timed: Timed
    owed: tuple[Obligation, ...]
    matched: int
    vector: Vector
    publisher: Contact

    def aged(self, by_us: int) -> OwedEvent:
        """The same, so much later."""
        return msgspec.structs.replace(self, timed=self.timed.aged(by_us))


class StoredEvent(msgspec.Struct, frozen=True, array_like=True):
    """An owed event as a row of the store, with the instant of writing by this machine's wall clock."""

    written_us: int
    owed_event: OwedEvent


class StoreCopy(Message, frozen=True):
    """Asks the receiver to hold these owed events: replication, hand-over and give-back alike."""

    lane: ClassVar[Lane] = Lane.CONTROL
    cluster: ClusterId
    owed_events: tuple[OwedEvent, ...]

    @property
    def weight(self) -> int:
        return sum(2 * SMALL + owed_event.timed.weight for owed_event in self.owed_events)

    def aged(self, by_us: int) -> StoreCopy:
        return StoreCopy(self.cluster, tuple(owed_event.aged(by_us) for owed_event in self.owed_events))


class CopyStored(Message, frozen=True):
    """Held durably by the sender, which follows this table: by a newer one it may let go again."""

    cluster: ClusterId
    owed_events: tuple[OwedEventId, ...]
    table: TableVersion | None


class Discharged(Message, frozen=True):
    """These owed events owe nothing any more."""

    cluster: ClusterId
    owed_events: tuple[OwedEventId, ...]


class MatchRequest(Message, frozen=True):
    """The topic's owner asks a wildcard shard's owner for its matches; repeated until answered."""

    cluster: ClusterId
    shard: int
    event: Event


class MatchResponse(Message, frozen=True):
    """The shard's matches under `vector`; `empty` leases the right not to ask for a while."""

    cluster: ClusterId
    shard: int
    event: EventId
    matches: tuple[Obligation, ...]
    vector: Vector
    empty: bool


class Route(Message, frozen=True):
    """An owner asks its super-node for one multicast to the other clusters."""

    lane: ClassVar[Lane] = Lane.CONTENT
    attempt: int
    timed: Timed
    owed: tuple[Obligation, ...]
    missed: tuple[Missed, ...] = ()

    @property
    def weight(self) -> int:
        return SMALL + self.timed.weight

    def aged(self, by_us: int) -> Route:
        return msgspec.structs.replace(self, timed=self.timed.aged(by_us))


class Routed(Message, frozen=True):
    """What the multicast achieved."""

    attempt: int
    event: EventId
    outcomes: tuple[tuple[SubscriptionId, Outcome], ...]


class Deliver(Message, frozen=True):
    """The event, for these subscriptions of the receiving peer; repeated until every one has an outcome.

    `missed` tells of events that never come because their owner's spool was full; repeated with every delivery.
    """

    lane: ClassVar[Lane] = Lane.CONTENT
    timed: Timed
    subscriptions: tuple[SubscriptionId, ...]
    missed: tuple[Missed, ...] = ()

    @property
    def weight(self) -> int:
        return SMALL + self.timed.weight

    def aged(self, by_us: int) -> Deliver:
        return msgspec.structs.replace(self, timed=self.timed.aged(by_us))


class Delivered(Message, frozen=True):
    """Outcomes at the subscribing peer."""

    event: EventId
    outcomes: tuple[tuple[SubscriptionId, Outcome], ...]


class Parcel(msgspec.Struct, frozen=True, array_like=True):
    """Events that promise nothing, of one start of one publisher, which numbers its parcels and signs each once.

    Of `size` events these are at `places`, and the proof leads from them to what was signed. No places: all of them.
    """

    number: Natural
    events: tuple[Event, ...]
    size: Natural
    places: tuple[Natural, ...] = ()
    signature: Signature | None = None
    proof: tuple[Leaf, ...] = ()

    @property
    def weight(self) -> int:
        return 5 * SMALL + 16 * len(self.proof) + 64 * self.size + sum([len(event.body) for event in self.events])


class ParcelToOwner(Message, frozen=True):
    """A publisher to the owner of the topics. Said once, as everything about a parcel.

    The leaves spare an owner that passes on a part of the parcel to hash all of it. If they are wrong, the receivers
    refuse the part, and only the publisher is harmed.
    """

    lane: ClassVar[Lane] = Lane.CONTENT
    parcel: Parcel
    leaves: tuple[Leaf, ...] = ()

    @property
    def weight(self) -> int:
        return 16 * len(self.leaves) + self.parcel.weight


class ParcelToShard(Message, frozen=True):
    """The topics' owner to a wildcard shard's, which passes the events on to the subscribers in its shard."""

    lane: ClassVar[Lane] = Lane.CONTENT
    cluster: ClusterId
    shard: int
    parcel: Parcel
    leaves: tuple[Leaf, ...] = ()

    @property
    def weight(self) -> int:
        return 16 * len(self.leaves) + self.parcel.weight


class ParcelToSubscriber(Message, frozen=True):
    """Events for subscriptions of the receiving peer, each with the indexes of its events; none: all of them."""

    lane: ClassVar[Lane] = Lane.CONTENT
    parcel: Parcel
    wanted: tuple[tuple[SubscriptionId, tuple[Natural, ...]], ...]

    @property
    def weight(self) -> int:
        return SMALL * len(self.wanted) + self.parcel.weight


class ShardRequest(Message, frozen=True):
    """The topics' owner asks a wildcard shard's whether it is empty; asked again while it matters."""

    cluster: ClusterId
    shard: int
    asked_us: Micros


class ShardEmpty(Message, frozen=True):
    """It is, and leases the right to pass it over for a while from `asked_us`, by the asker's clock."""

    cluster: ClusterId
    shard: int
    asked_us: Micros
