"""A peer asks for what it declares; its super-node says what became of it."""

from __future__ import annotations

from p2psub.model.content import Declaration
from p2psub.model.ids import ClusterId, SubscriptionId
from p2psub.model.messages.base import Message
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.rates import Demand
from p2psub.model.reasons import Reason


class Declare(Message, frozen=True):
    """A peer to its super-node: an active record to add or an ended one to end; repeated until the verdict."""

    record: Declaration


class Verdict(Message, frozen=True):
    """The super-node's word on a declaration, and why it is refused; `accepted` may be followed by another.

    Of a subscription that stands it says what the publishers advertise of it.
    """

    id: SubscriptionId
    version: int
    status: VerdictStatus
    unreached: tuple[ClusterId, ...]
    reason: Reason | None = None
    demand: Demand | None = None
