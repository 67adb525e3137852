"""What the topics' owner and the owner of a wildcard shard say to each other."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from p2psub.model.ages import older
from p2psub.model.changes import Vector
from p2psub.model.content import Age, Event
from p2psub.model.ids import ClusterId, Natural
from p2psub.model.instants import Micros
from p2psub.model.messages.base import HEAD, Lane, Message
from p2psub.model.messages.pubsub import Obligation
from p2psub.model.parcels import Parcel
from p2psub.model.seals import BATCH_MAX, LEAF_WEIGHT, Leaf
from p2psub.model.weights import weight_of_events, weight_of_parcel


class MatchRequest(Message, frozen=True):
    """The topics' owner asks a wildcard shard's owner for its matches; repeated until answered.

    No filter looks at a body, so the events travel without.
    """

    cluster: ClusterId
    shard: int
    number: Natural
    events: Annotated[tuple[Event, ...], msgspec.Meta(min_length=1, max_length=BATCH_MAX)]

    @property
    def weight(self) -> int:
        return HEAD + len(self.cluster) + weight_of_events(self.events)


class MatchResponse(Message, frozen=True):
    """The shard's matches under `vector`, by the request's number; `empty` leases the right not to ask for a while."""

    cluster: ClusterId
    shard: int
    number: Natural
    matches: tuple[Obligation, ...]
    vector: Vector
    empty: bool


class ParcelToShard(Message, frozen=True):
    """The topics' owner to a wildcard shard's, which passes the events on to the subscribers in its shard."""

    lane: ClassVar[Lane] = Lane.CONTENT
    cluster: ClusterId
    shard: int
    parcel: Parcel
    leaves: tuple[Leaf, ...] = ()
    age_us: Age = Micros(0)

    @property
    def weight(self) -> int:
        return HEAD + len(self.cluster) + LEAF_WEIGHT * len(self.leaves) + weight_of_parcel(self.parcel)

    def aged(self, by_us: int) -> ParcelToShard:
        return msgspec.structs.replace(self, age_us=older(self.age_us, by_us))
