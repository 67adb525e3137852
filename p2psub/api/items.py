"""What comes out of a subscription: events, word of missing ones, and better verdicts."""

from __future__ import annotations

import msgspec

from p2psub.model.content import Event
from p2psub.model.outcomes import SubscribeVerdict
from p2psub.model.reasons import Reason


class Notification(msgspec.Struct, frozen=True):
    """An event that the subscription wanted."""

    event: Event


class Gap(msgspec.Struct, frozen=True):
    """`count` events are missing here, and why; nobody knows how many if it is 0."""

    count: int
    reason: Reason


Item = Notification | Gap | SubscribeVerdict
