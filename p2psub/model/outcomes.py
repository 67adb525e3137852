"""How things end: for an event and a subscription, for a subscription request, for a publish."""

from __future__ import annotations

import enum

import msgspec

from p2psub.model.ids import ClusterId, EventId, NodeId, SubscriptionId
from p2psub.model.rates import Demand
from p2psub.model.reasons import Reason


class Outcome(enum.StrEnum):
    """How an acknowledged event ended for one matched subscription."""

    DELIVERED = "delivered"
    EXPIRED = "expired"
    """Its time was over, by the subscription's deadline or the publisher's timeout, before it was handed over."""
    HOPELESS = "hopeless"
    """By the estimates of a link's queue it would have come too late, so the queue did not send it."""
    UNSUBSCRIBED = "unsubscribed"
    ENDED = "ended"
    REFUSED = "refused"
    """The subscription itself was refused before the event was handed over."""
    SPOOL_FULL = "spool_full"
    UNREACHABLE = "unreachable"
    DEFERRED = "deferred"
    """Not an end: the subscriber's channel is full, and the event is still owed."""


class VerdictStatus(enum.StrEnum):
    """Where a subscription stands: everywhere, somewhere, or nowhere."""

    STABLE = "stable"
    ACCEPTED = "accepted"
    REFUSED = "refused"


class Missed(msgspec.Struct, frozen=True, array_like=True):
    """How many events one owner, since it started, had to drop for a subscription because its spool was full."""

    subscription: SubscriptionId
    owner: NodeId
    incarnation: int
    count: int


class SubscribeVerdict(msgspec.Struct, frozen=True, array_like=True):
    """What became of a subscription request; `unreached` names clusters that have not stored it yet."""

    subscription: SubscriptionId
    status: VerdictStatus
    unreached: tuple[ClusterId, ...] = ()
    reason: Reason | None = None
    """Why it was refused."""
    demand: Demand | None = None
    """What the publishers advertise of it; None if it was refused."""


class AdvertiseVerdict(msgspec.Struct, frozen=True, array_like=True):
    """What became of an advertisement; `unreached` names clusters that do not know of it yet."""

    advertisement: SubscriptionId
    status: VerdictStatus
    unreached: tuple[ClusterId, ...] = ()
    reason: Reason | None = None
    """Why it was refused."""


class PublishOutcome(msgspec.Struct, frozen=True, array_like=True):
    """What `publish` returns: the copies that hold the event and how many subscriptions it matched, or why not.

    Neither is known of an event that is `at_most_once`: it is stored nowhere, and no owner answers for it.
    """

    event: EventId
    copies: int | None = None
    matched: int | None = None
    refused: Reason | None = None
