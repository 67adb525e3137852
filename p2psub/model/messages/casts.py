"""Casts over the cube: the request down, custody at once, the answer up.

A payload is what a cast carries. It knows what a cast must know of it: whether it wants answers, which part of it
concerns a subcube, what the answers of several subcubes are together, and in which message it travels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec.structs import replace

from p2psub.model.ages import older
from p2psub.model.bids import BidSum
from p2psub.model.changes import Change
from p2psub.model.content import Age
from p2psub.model.graycode import Prefix, overlaps
from p2psub.model.ids import CastId, ClusterId, Process
from p2psub.model.instants import Micros
from p2psub.model.messages.base import HEAD, SMALL, ClusterBids, Lane, Message
from p2psub.model.messages.pubsub import OutcomeOf, StreamAck, Want, outcomes_of, sums_or_default
from p2psub.model.outcomes import Missed, Outcome
from p2psub.model.parcel_parts import is_promised, is_sound, places_of
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import from_bitmap, union_of
from p2psub.model.places import Entry
from p2psub.model.weights import weight_of_change, weight_of_parcel


class ChangeSummary(Message, frozen=True):
    """Votes of one subtree, summed on the way up; `covered` names the subcubes that stored the change."""

    covered: tuple[Prefix, ...]
    granted: int
    refused: int
    retained: int


class EventSummary(Message, frozen=True):
    """Outcomes of one subtree; a subscription without outcome is not named, and its owner tries again."""

    outcomes: tuple[OutcomeOf, ...]
    acks: tuple[StreamAck, ...] = ()


Summary = ChangeSummary | EventSummary


class ChangePayload(Message, frozen=True):
    """Broadcast: a numbered change for every cluster."""

    wants_answer: ClassVar[bool] = True
    stops: ClassVar[tuple[ClusterId, ...]] = ()
    change: Change

    def restrict(self, _: Prefix) -> ChangePayload:
        return self

    def repeated(self) -> ChangePayload:
        return self

    def has_part_in(self, _: Prefix) -> bool:
        return True

    def merge(self, summaries: Iterable[Summary]) -> ChangeSummary:
        covered: list[Prefix] = []
        granted = refused = retained = 0
        for vote in summaries:
            if isinstance(vote, ChangeSummary):
                covered += vote.covered
                granted += vote.granted
                refused += vote.refused
                retained += vote.retained
        return ChangeSummary(tuple(covered), granted, refused, retained)

    def is_decided_by(self, part: Summary) -> bool:
        """One vote against a change is enough."""
        return isinstance(part, ChangeSummary) and part.refused > 0

    def request(self, id_: CastId, subcube: Prefix, hops: int) -> ChangeCast:
        return ChangeCast(id_, subcube, self, hops)


Target = tuple[ClusterId, Prefix, tuple[Want, ...], tuple[BidSum, ...]]
"""A cluster, where it was in the cube, what its subscriptions get, and what they bid for it as in `ClusterWants`."""


class EventPayload(Message, frozen=True):
    """Multicast: a parcel, and per target cluster the matched subscriptions; `missed` as in `Deliver`."""

    parcel: Parcel
    age_us: Age
    targets: tuple[Target, ...]
    missed: tuple[Missed, ...] = ()
    owner: Process | None = None
    is_repeated: bool = False
    """Whether subscribers may have had these events before."""

    @property
    def wants_answer(self) -> bool:
        return is_promised(self.parcel)

    @property
    def stops(self) -> tuple[ClusterId, ...]:
        return tuple([cluster for cluster, _, _, _ in self.targets])

    @property
    def bid_sums(self) -> tuple[ClusterBids, ...]:
        """What the targets bid."""
        whole = places_of(self.parcel)
        return tuple([(cluster, sums_or_default(sums, wants, whole)) for cluster, _, wants, sums in self.targets])

    @property
    def limit_us(self) -> int:
        """The age up to which some subscription may get it; 0: any age."""
        latest = 0
        for _, _, _, sums in self.targets:
            if not sums or not all(one.limit_us for one in sums):
                return 0
            latest = max(latest, *[one.limit_us for one in sums])
        return latest

    def aged(self, by_us: int) -> EventPayload:
        return replace(self, age_us=older(self.age_us, by_us))

    def repeated(self) -> EventPayload:
        return replace(self, is_repeated=True)

    def restrict(self, half: Prefix) -> EventPayload | None:
        """The part for a half; events that no target there wants stay behind, as does an unsound parcel."""
        targets = [target for target in self.targets if overlaps(half, target[1])]
        if len(targets) == len(self.targets):
            return self
        if not targets:
            return None
        parcel = self.parcel
        whole = places_of(parcel)
        needed = union_of([from_bitmap(want[1], whole) for _, _, wants, _ in targets for want in wants])
        if not needed or not is_sound(parcel):
            return None
        part = parcel if needed == whole else parcel.part(needed)
        return replace(self, parcel=part, targets=tuple(targets))

    def has_part_in(self, prefix: Prefix) -> bool:
        return any(overlaps(prefix, target[1]) for target in self.targets)

    def merge(self, summaries: Iterable[Summary]) -> EventSummary:
        outcomes: list[OutcomeOf] = []
        acks: list[StreamAck] = []
        for part in summaries:
            if isinstance(part, EventSummary):
                outcomes += part.outcomes
                acks += part.acks
        return EventSummary(tuple(outcomes), tuple(acks))

    def is_decided_by(self, _: Summary) -> bool:
        return False

    def request(self, id_: CastId, subcube: Prefix, hops: int) -> EventCast:
        return EventCast(id_, subcube, self, hops)


class ChangeCast(Message, frozen=True):
    """Cover `subcube` with a change."""

    id: CastId
    subcube: Prefix
    payload: ChangePayload
    hops: int

    @property
    def weight(self) -> int:
        return SMALL + weight_of_change(self.payload.change)


class EventCast(Message, frozen=True):
    """Cover the targets inside `subcube` with an event."""

    lane: ClassVar[Lane] = Lane.CONTENT
    id: CastId
    subcube: Prefix
    payload: EventPayload
    hops: int

    @property
    def weight(self) -> int:
        payload = self.payload
        beside = (self.id, self.subcube, payload.targets, payload.missed, payload.owner)
        return HEAD + weight_of_parcel(payload.parcel, beside)

    @property
    def parcel(self) -> Parcel:
        return self.payload.parcel

    @property
    def age_us(self) -> Micros:
        return self.payload.age_us

    @property
    def bid_sums(self) -> tuple[ClusterBids, ...]:
        return self.payload.bid_sums

    @property
    def is_repeated(self) -> bool:
        return self.payload.is_repeated

    def aged(self, by_us: int) -> EventCast:
        return EventCast(self.id, self.subcube, self.payload.aged(by_us), self.hops)

    def answer_unsent(self, outcome: Outcome) -> Answer:
        wants = [want for _, _, of_cluster, _ in self.payload.targets for want in of_cluster]
        return Answer(self.id, self.subcube, EventSummary(outcomes_of(wants, self.parcel.places, outcome)))


CastRequest = ChangeCast | EventCast


class CustodyRequest(Message, frozen=True):
    """Whether its receiver has a subcube that it was asked to cover."""

    id: CastId
    subcube: Prefix


class Custody(Message, frozen=True):
    """Received, and responsible from here on."""

    id: CastId
    subcube: Prefix


class Answer(Message, frozen=True):
    """The merged answer of a subcube."""

    id: CastId
    subcube: Prefix
    summary: Summary


class CastRefused(Message, frozen=True):
    """The receiver does not have it. If the subcube is not its own the entries name the owner."""

    id: CastId
    subcube: Prefix
    entries: tuple[Entry, ...]
