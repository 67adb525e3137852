"""The step contract: what a driver hands to a node, and what the node asks its driver to do.

    effects = node.step(inputs, now)

`now` never runs backwards. Effects are performed in order, before the next step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from p2psub.model.bids import NO_BID, Bid
from p2psub.model.content import Draft, Event, Filter, Order
from p2psub.model.ids import Contact, NodeId, SubscriptionId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.denials import DenyResponse
from p2psub.model.outcomes import AdvertiseVerdict, PublishOutcome, SubscribeVerdict
from p2psub.model.reasons import Reason
from p2psub.model.records import Record
from p2psub.model.rights import Rights


class Received(msgspec.Struct, frozen=True, gc=False):
    """Messages of one peer, in the order it sent them, with its hybrid and its steady clock when it did."""

    peer: Contact
    messages: list[Message]
    stamp: Stamp
    sent_us: Micros = Micros(0)


class TimerFired(msgspec.Struct, frozen=True, gc=False):
    """The timer that was set last has fired."""


class LinkUp(msgspec.Struct, frozen=True, gc=False):
    """A link is open; the peer has proved these rights.

    Until more is known of the link, so many bytes may be under way on it at a time.
    """

    peer: Contact
    window: int
    rights: Rights = Rights()
    round_trip_us: int = 0
    """The shortest that was seen; 0 where nobody says."""


class LinkDrained(msgspec.Struct, frozen=True, gc=False):
    """Of all that was put on the link since it is up, so many bytes have arrived."""

    peer: NodeId
    arrived: int
    busy_us: int = 0
    """For so long the link was full; 0: it had drained when the driver was asked to say so."""
    busy_bytes: int = 0
    """What arrived meanwhile."""


class LinkLost(msgspec.Struct, frozen=True, gc=False):
    """The link is gone, or could not be opened; what was not yet received is lost."""

    peer: NodeId


class Stored(msgspec.Struct, frozen=True, gc=False):
    """Every Persist up to `number` is durable."""

    number: int


class PacksRead(msgspec.Struct, frozen=True, gc=False):
    """A page of what the ReadPacks with this number asked for, in that order; no body: it is missing or damaged.

    Pages follow until every pack that was asked for is answered.
    """

    number: int
    bodies: list[tuple[int, object | None]]


class DiskState(msgspec.Struct, frozen=True, gc=False):
    """The disk takes nothing from now on, or takes rows again; a process begins with a disk that does."""

    is_full: bool


class SubscribeCommand(msgspec.Struct, frozen=True, gc=False):
    """An application subscribes; its channel holds `window` items until some are consumed."""

    number: int
    filter: Filter
    replay: bool = False
    window: int = 1 << 30
    order: Order = Order.NONE
    bid: Bid = NO_BID


class UnsubscribeCommand(msgspec.Struct, frozen=True, gc=False):
    """An application has seen enough."""

    number: int
    subscription: SubscriptionId


class AdvertiseCommand(msgspec.Struct, frozen=True, gc=False):
    """An application says what it will publish, and how many events per second at most."""

    number: int
    filter: Filter
    rate: float


class WithdrawCommand(msgspec.Struct, frozen=True, gc=False):
    """An application is no longer held to what it advertised by the command of this number."""

    number: int


class LeaveCommand(msgspec.Struct, frozen=True, gc=False):
    """The node shall give away what it holds and go; its status says when it has."""


class MeasuredCommand(msgspec.Struct, frozen=True, gc=False):
    """The machine was measured again: this is our score as a candidate from now on."""

    score: float


class DenyCommand(msgspec.Struct, frozen=True, gc=False):
    """The authority has given our driver a deny list; verified."""

    denials: DenyResponse


class PublishCommand(msgspec.Struct, frozen=True, gc=False):
    """An application publishes; the first event has this number, each other the next one."""

    number: int
    drafts: Sequence[Draft]


class ConsumedCommand(msgspec.Struct, frozen=True, gc=False):
    """An application consumed `count` items of its channel."""

    subscription: SubscriptionId
    count: int


Command = (
    SubscribeCommand
    | UnsubscribeCommand
    | AdvertiseCommand
    | WithdrawCommand
    | PublishCommand
    | ConsumedCommand
    | LeaveCommand
    | DenyCommand
    | MeasuredCommand
)
FromDisk = Stored | PacksRead | DiskState
Input = Received | TimerFired | LinkUp | LinkDrained | LinkLost | FromDisk | Command


class Transmit(msgspec.Struct, frozen=True, gc=False):
    """Put these messages on the open link, in this order, under one hybrid clock stamp."""

    peer: NodeId
    messages: list[Message]
    stamp: Stamp
    sent_us: Micros = Micros(0)
    """By our steady clock."""
    weight: int = 0
    """Roughly their bytes."""
    drained_to: int | None = None
    """Say LinkDrained as soon as no more than so many bytes are under way; none: nothing waits for that."""


class Connect(msgspec.Struct, frozen=True, gc=False):
    """Open a link; answered by LinkUp or LinkLost."""

    contact: Contact


class Disconnect(msgspec.Struct, frozen=True, gc=False):
    """Close a link."""

    peer: NodeId
    reason: str


class Deny(msgspec.Struct, frozen=True, gc=False):
    """End the links of these nodes, and of those denied before, and open none; remember the list."""

    denials: DenyResponse


class SetTimer(msgspec.Struct, frozen=True, gc=False):
    """Fire at this instant; replaces the timer set before."""

    at: Micros


class CancelTimer(msgspec.Struct, frozen=True, gc=False):
    """Forget the timer."""


class Write(msgspec.Struct, frozen=True, gc=False):
    """One row of the store; no value removes the row."""

    namespace: str
    name: tuple[object, ...]
    value: object | None


class Pack(msgspec.Struct, frozen=True, gc=False):
    """One entry of the store's log: a small head, which every start reads, and a body, which is read when asked for."""

    number: int
    head: object
    body: object


class Persist(msgspec.Struct, frozen=True, gc=False):
    """Make these rows and packs durable together; answered by Stored, which may come before packs are erased."""

    number: int
    writes: list[Write]
    packs: list[Pack] = []
    erased_packs: list[int] = []


class ReadPacks(msgspec.Struct, frozen=True, gc=False):
    """Read the bodies of these packs; answered by PacksRead, a page at a time."""

    number: int
    packs: list[int]


class StoredPacks(msgspec.Struct, frozen=True, gc=False):
    """What a process finds of the log at its start: the heads by pack, in order, and the highest number ever used."""

    last: int = 0
    heads: Mapping[int, object] = {}


class Notify(msgspec.Struct, frozen=True, gc=False):
    """Hand events to a subscription's channel."""

    subscription: SubscriptionId
    events: Sequence[Event]
    born_us: Sequence[Micros]
    """When they were published, by this node's clock."""
    limits_us: Sequence[int] = ()
    """Up to which age they may be handed over, 0 for any; not told if that is so of all."""


class NotifyGap(msgspec.Struct, frozen=True, gc=False):
    """Tell a subscription, in its channel, that `count` events were dropped and why."""

    subscription: SubscriptionId
    count: int
    reason: Reason


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The answer to a command: a verdict, which a better one may follow."""

    number: int
    result: SubscribeVerdict | AdvertiseVerdict


class PublishReply(msgspec.Struct, frozen=True, gc=False):
    """What became of published events, each with the number of its command."""

    outcomes: Sequence[tuple[int, PublishOutcome]]


ToDisk = Persist | ReadPacks
ToApplication = Notify | NotifyGap | Reply | PublishReply
Effect = Transmit | Connect | Disconnect | Deny | SetTimer | CancelTimer | ToDisk | ToApplication | Record
"""A record among the effects is to be written to the trace."""
