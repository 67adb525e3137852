"""Publish, store copies, deliver. docs/protocol/messages.md lists which node repeats what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, NamedTuple

import msgspec

from p2psub.model.ages import older
from p2psub.model.bids import PRICE_ONE, Bid, BidSum, Span
from p2psub.model.changes import Vector
from p2psub.model.content import Age
from p2psub.model.ids import ClusterId, Contact, EventId, Key, Natural, Process, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.base import HEAD, ClusterBids, Lane, Message
from p2psub.model.outcomes import Missed, Outcome
from p2psub.model.parcels import Bitmap, Parcel, ParcelId
from p2psub.model.place_sets import from_bitmap, to_bitmap
from p2psub.model.places import TableVersion
from p2psub.model.reasons import Reason
from p2psub.model.seals import BATCH_MAX, LEAF_WEIGHT, Leaf
from p2psub.model.weights import weight_of_owed, weight_of_parcel


class Predecessor(NamedTuple):
    """The event before those of one topic in a parcel, on the same topic, while no owner has acknowledged it."""

    topic: str
    parcel: Natural
    sequence: Natural


class Publish(Message, frozen=True):
    """A publisher to the owner of the topics: a parcel, or what of it is not acknowledged; repeated until it is.

    An owner takes no event of a topic before its predecessor. A full disk is the last word on what was not repeated.
    """

    lane: ClassVar[Lane] = Lane.CONTENT
    parcel: Parcel
    age_us: Age
    after: Annotated[tuple[Predecessor, ...], msgspec.Meta(max_length=BATCH_MAX)] = ()
    is_repeated: bool = False

    @property
    def weight(self) -> int:
        return HEAD + (weight_of_parcel(self.parcel, self.after) if self.after else weight_of_parcel(self.parcel))

    @property
    def is_sent_late(self) -> bool:
        """An owner may have taken it: then that one says what became of it."""
        return self.is_repeated

    def aged(self, by_us: int) -> Publish:
        return msgspec.structs.replace(self, age_us=older(self.age_us, by_us))

    def answer_unsent(self, outcome: Outcome) -> Acknowledge:
        refused = Acknowledged(to_bitmap(self.parcel.places), refused=Reason(outcome.value))
        return Acknowledge(self.parcel.id, (refused,))


class Acknowledged(msgspec.Struct, frozen=True, array_like=True):
    """What became of some events of a parcel, alike: how many copies and matches they have, or why they are refused."""

    bitmap: Bitmap
    copies: int | None = None
    matched: int | None = None
    refused: Reason | None = None


class Acknowledge(Message, frozen=True):
    """From here on these events are the cluster's, or they are refused."""

    parcel: ParcelId
    outcomes: tuple[Acknowledged, ...]


class NotOwner(Message, frozen=True):
    """The keys of these events are not (or not yet) the receiver's; names their owners, as far as they are known."""

    parcel: ParcelId
    owners: tuple[tuple[Bitmap, Contact | None], ...]


class Obligation(msgspec.Struct, frozen=True, array_like=True):
    """A matched subscription, and the events of a parcel that are owed to it."""

    subscription: SubscriptionId
    cluster: ClusterId
    bitmap: Bitmap = b""
    is_ordered: bool = False
    """Whether it gets the events of each publisher in the order in which they were published."""
    bid: Bid | None = None
    """None: the default."""


class OwedParcelId(NamedTuple):
    """A parcel and a digest of the subscriptions with which events of it were matched.

    Two owners parted by a cut may store one event with different matches: it is owed twice, and paid each time.
    """

    parcel: ParcelId
    matches: bytes


class OwedParcel(msgspec.Struct, frozen=True, array_like=True):
    """Events as their holders keep them: with what they owe, and the change vector they were matched against."""

    matches: bytes
    parcel: Parcel
    age_us: Age
    owed: tuple[Obligation, ...]
    matched: tuple[tuple[Natural, Bitmap], ...]
    """How many subscriptions want an event, and which events those are."""
    vector: Vector
    publisher: Contact

    @property
    def id(self) -> OwedParcelId:
        return OwedParcelId(self.parcel.id, self.matches)

    def aged(self, by_us: int) -> OwedParcel:
        return msgspec.structs.replace(self, age_us=older(self.age_us, by_us))


class OwedHead(msgspec.Struct, frozen=True, array_like=True):
    """What a holder must know of owed events without reading them: the head of a pack whose body is their parcel."""

    written_us: int
    """The instant of writing, by this machine's wall clock."""
    age_us: Age
    id: OwedParcelId
    first: EventId
    """Of the event at place 0."""
    keys: tuple[tuple[Key, Bitmap], ...]
    """The keys of the events, and which events those are. No bitmap here stands for all."""
    owed: tuple[Obligation, ...]
    matched: tuple[tuple[Natural, Bitmap], ...]
    retained: Bitmap
    """The events whose class keeps them when they owe nothing any more."""
    body_bytes: Natural
    """Of the body of one of them, on average."""
    vector: Vector
    publisher: Contact
    timeout_us: Span = 0
    """Of all events of a parcel."""


OwedPlaces = tuple[OwedParcelId, Bitmap]
"""Some of the events that a parcel owes."""


class StoreCopy(Message, frozen=True):
    """Asks the receiver to hold what is owed: replication, hand-over and give-back alike."""

    cluster: ClusterId
    owed_parcels: tuple[OwedParcel, ...]

    @property
    def weight(self) -> int:
        return HEAD + len(self.cluster) + sum([weight_of_owed(one) for one in self.owed_parcels])

    def aged(self, by_us: int) -> StoreCopy:
        return StoreCopy(self.cluster, tuple(owed_parcel.aged(by_us) for owed_parcel in self.owed_parcels))


class CopyStored(Message, frozen=True):
    """Held durably by the sender, which follows this table: by a newer one it may let go again."""

    cluster: ClusterId
    held: tuple[OwedPlaces, ...]
    table: TableVersion | None


class CopyRefused(Message, frozen=True):
    """The sender's disk takes nothing at present: it does not hold these events, and another member should."""

    cluster: ClusterId
    refused: tuple[OwedPlaces, ...]


class CopyLost(Message, frozen=True):
    """The sender finds that it cannot read these events any more; a member that holds them sends them again."""

    cluster: ClusterId
    lost: tuple[OwedPlaces, ...]


class Discharged(Message, frozen=True):
    """These events owe nothing any more."""

    cluster: ClusterId
    discharged: tuple[OwedPlaces, ...]


class StillOwed(Message, frozen=True):
    """A holder has long heard nothing of these events, each parcel with the number of its first event.

    The owner says `CopyStored`, `Discharged`, or `CopyLost` if it knows nothing of them.
    """

    cluster: ClusterId
    asked: tuple[tuple[OwedParcelId, Natural, Bitmap], ...]


class GiveBackRequest(Message, frozen=True):
    """An owner asks a member whether it has all that the member held or published for it; repeated until answered."""

    cluster: ClusterId
    table: TableVersion


class GivenBack(Message, frozen=True):
    """By this table the receiver holds what the sender holds for its arc, and what the sender had published before."""

    cluster: ClusterId
    table: TableVersion


class Want(NamedTuple):
    """A subscription, the events of a parcel that it gets, and the number of this delivery in its owner's stream.

    The owner waits for nothing up to number `settled` any more. What promises nothing has no number. The deadline is
    the subscription's; what is replayed has none.
    """

    subscription: SubscriptionId
    bitmap: Bitmap = b""
    number: Natural = 0
    settled: Natural = 0
    deadline_us: Span = 0


ClusterWants = tuple[ClusterId, tuple[Want, ...], tuple[BidSum, ...]]
"""What the subscriptions in one cluster get of a parcel, and what they bid for it; no sums: all bid the default."""


def sums_or_default(sums: tuple[BidSum, ...], wants: tuple[Want, ...], whole: int) -> tuple[BidSum, ...]:
    """What wants bid together, spelled out where they bid the default."""
    if sums:
        return sums
    pairs = sum([from_bitmap(want.bitmap, whole).bit_count() for want in wants])
    return (BidSum(0, PRICE_ONE * pairs, 0, pairs),)


def outcomes_of(wants: Iterable[Want], whole: int, outcome: Outcome) -> tuple[OutcomeOf, ...]:
    """The same outcome for all that is wanted of a parcel."""
    named = [(want.subscription, from_bitmap(want.bitmap, whole)) for want in wants]
    return tuple([OutcomeOf(id_, outcome, to_bitmap(places)) for id_, places in named if places])


class StreamAck(msgspec.Struct, frozen=True, array_like=True):
    """How far a subscription has taken an owner's stream: all up to `contiguous`, and of the numbers after it `beyond`.

    `room` says how many more events its channel takes. Of two the one with the higher serial was said later.
    """

    subscription: SubscriptionId
    serial: Natural
    contiguous: Natural
    beyond: Bitmap
    room: Natural


class Route(Message, frozen=True):
    """An owner asks its super-node for one multicast to the other clusters."""

    lane: ClassVar[Lane] = Lane.CONTENT
    attempt: int
    parcel: Parcel
    age_us: Age
    wants: tuple[ClusterWants, ...]
    missed: tuple[Missed, ...] = ()
    owner: Process | None = None
    """Whose streams the numbers are of; none if nothing is promised."""
    is_repeated: bool = False
    """Whether subscribers may have had these events before."""

    @property
    def weight(self) -> int:
        return HEAD + weight_of_parcel(self.parcel, (self.wants, self.missed, self.owner))

    @property
    def bid_sums(self) -> tuple[ClusterBids, ...]:
        whole = self.parcel.places
        return tuple([(cluster, sums_or_default(sums, wants, whole)) for cluster, wants, sums in self.wants])

    def aged(self, by_us: int) -> Route:
        return msgspec.structs.replace(self, age_us=older(self.age_us, by_us))

    def answer_unsent(self, outcome: Outcome) -> Routed:
        wants = [want for _, of_cluster, _ in self.wants for want in of_cluster]
        return Routed(self.attempt, self.parcel.id, outcomes_of(wants, self.parcel.places, outcome), self.owner)


class OutcomeOf(msgspec.Struct, frozen=True, array_like=True):
    """How some events of a parcel ended for one subscription."""

    subscription: SubscriptionId
    outcome: Outcome
    bitmap: Bitmap


class Routed(Message, frozen=True):
    """What the multicast achieved; or, while it is under way, which subscriptions and numbers are on it."""

    attempt: int
    parcel: ParcelId
    outcomes: tuple[OutcomeOf, ...]
    owner: Process | None = None
    acks: tuple[StreamAck, ...] = ()
    under_way: tuple[tuple[SubscriptionId, Natural], ...] = ()


class Deliver(Message, frozen=True):
    """Events for subscriptions of the receiving peer; if they are promised, repeated until every one has an outcome.

    `missed` tells of events that never come because their owner's spool was full; repeated with every delivery.
    """

    lane: ClassVar[Lane] = Lane.CONTENT
    parcel: Parcel
    age_us: Age
    wants: tuple[Want, ...]
    missed: tuple[Missed, ...] = ()
    owner: Process | None = None
    bids: tuple[BidSum, ...] = ()
    """What the wants bid together, for the link's queue; no sums: all bid the default."""
    is_repeated: bool = False

    @property
    def weight(self) -> int:
        return HEAD + weight_of_parcel(self.parcel, (self.wants, self.missed, self.owner, self.bids))

    @property
    def bid_sums(self) -> tuple[ClusterBids, ...]:
        return ((None, sums_or_default(self.bids, self.wants, self.parcel.places)),)

    def aged(self, by_us: int) -> Deliver:
        return msgspec.structs.replace(self, age_us=older(self.age_us, by_us))

    def answer_unsent(self, outcome: Outcome) -> Delivered:
        return Delivered(self.parcel.id, outcomes_of(self.wants, self.parcel.places, outcome), self.owner)


class Delivered(Message, frozen=True):
    """Outcomes at the subscribing peer, and how far it has taken the owner's streams."""

    parcel: ParcelId
    outcomes: tuple[OutcomeOf, ...]
    owner: Process | None = None
    acks: tuple[StreamAck, ...] = ()


class WindowUpdate(Message, frozen=True):
    """A subscriber whose channels were full has room again; the owner tries again by itself if it is lost."""

    owner: Process
    acks: tuple[StreamAck, ...]


class ParcelToOwner(Message, frozen=True):
    """A publisher to the owner of the topics, with events that promise nothing. Said once, as all that follows from it.

    The leaves spare an owner that passes on a part of the parcel to hash all of it. If they are wrong, the receivers
    refuse the part, and only the publisher is harmed.
    """

    lane: ClassVar[Lane] = Lane.CONTENT
    parcel: Parcel
    leaves: tuple[Leaf, ...] = ()
    age_us: Age = Micros(0)

    @property
    def weight(self) -> int:
        return HEAD + LEAF_WEIGHT * len(self.leaves) + weight_of_parcel(self.parcel)

    def aged(self, by_us: int) -> ParcelToOwner:
        return ParcelToOwner(self.parcel, self.leaves, older(self.age_us, by_us))
