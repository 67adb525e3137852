"""Casts over the cube: the request down, custody at once, the answer up."""

from __future__ import annotations

from typing import ClassVar

from p2psub.model.changes import Change
from p2psub.model.content import Timed
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, SubscriptionId
from p2psub.model.messages.base import SMALL, Lane, Message
from p2psub.model.outcomes import Missed, Outcome
from p2psub.model.places import Entry


class ChangePayload(Message, frozen=True):
    """Broadcast: a numbered change for every cluster."""

    change: Change


class EventPayload(Message, frozen=True):
    """Multicast: an event, and per target cluster the matched subscriptions; `missed` as in `Deliver`."""

    timed: Timed
    targets: tuple[tuple[ClusterId, Prefix, tuple[SubscriptionId, ...]], ...]
    missed: tuple[Missed, ...] = ()


class ChangeSummary(Message, frozen=True):
    """Votes of one subtree, summed on the way up; `covered` names the subcubes that stored the change."""

    covered: tuple[Prefix, ...]
    granted: int
    refused: int
    retained: int


class EventSummary(Message, frozen=True):
    """Outcomes of one subtree; a subscription without outcome is not named, and its owner tries again."""

    outcomes: tuple[tuple[SubscriptionId, Outcome], ...]


class ChangeCast(Message, frozen=True):
    """Cover `subcube` with a change."""

    id: CastId
    subcube: Prefix
    payload: ChangePayload
    hops: int

    @property
    def weight(self) -> int:
        return SMALL + self.payload.change.weight


class EventCast(Message, frozen=True):
    """Cover the targets inside `subcube` with an event."""

    lane: ClassVar[Lane] = Lane.CONTENT
    id: CastId
    subcube: Prefix
    payload: EventPayload
    hops: int

    @property
    def weight(self) -> int:
        return SMALL + SMALL + self.payload.timed.weight


class Custody(Message, frozen=True):
    """Received, and responsible from here on."""

    id: CastId
    subcube: Prefix


class Answer(Message, frozen=True):
    """The merged answer of a subcube."""

    id: CastId
    subcube: Prefix
    summary: ChangeSummary | EventSummary


class CastRefused(Message, frozen=True):
    """The subcube is not the receiver's; the entries name its owner."""

    id: CastId
    subcube: Prefix
    entries: tuple[Entry, ...]
