"""A peer that subscribes, and whose super-node and owners a test plays."""

from __future__ import annotations

from p2psub.admission.declarations import Declarations
from p2psub.model.bids import NO_BID, Bid
from p2psub.model.content import DeclarationState, Event, Guarantee, Order, Subscription
from p2psub.model.effects import (
    ConsumedCommand,
    Notify,
    Reply,
    SubscribeCommand,
)
from p2psub.model.ids import Contact, Process, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.declarations import Verdict
from p2psub.model.messages.pubsub import Deliver, Delivered, OutcomeOf, StreamAck, Want, WindowUpdate
from p2psub.model.outcomes import Missed, Outcome, VerdictStatus
from p2psub.model.parcels import Parcel
from p2psub.model.reasons import Reason
from p2psub.overlay.election import Election
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.trace_sampler import TraceSampler
from p2psub.subscriber.subscriber import Subscriber
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    effects_of,
    epoch,
    node_at,
    on_topic,
    parcel_of,
    sent,
    sent_of,
    step_at,
)

RULER, OWNER = at(1), at(32)
PROCESS = Process(OWNER, 5)
"""The owner's process, whose streams bring what is promised."""
ID = SubscriptionId(node_at(64), 1, 1)
ACTIVE, ENDED = DeclarationState.ACTIVE, DeclarationState.ENDED


class SubscribingPeer:
    """A member of the cluster that asks its super-node."""

    def __init__(self, *, follows: bool = True, may_be_refused: bool = False) -> None:
        self.step = step_at(64)
        self.election = Election(self.step, CONFIG.cluster)
        if follows:
            self.election.follow(CLUSTER, epoch(1, 1), RULER)
        self.declarations = Declarations(self.step, CONFIG.pubsub, self.election)
        sampler = TraceSampler(self.step, 1)
        self.core = Subscriber(
            self.step, CONFIG.pubsub, self.declarations, Sealer(None), sampler, may_be_refused=may_be_refused
        )
        self.number = 0
        """Of the last delivery in the owner's stream, where a test does not say which it is."""

    def subscribe(
        self,
        window: int = 100,
        *,
        status: VerdictStatus | None = VerdictStatus.STABLE,
        order: Order = Order.NONE,
        bid: Bid = NO_BID,
    ) -> None:
        """Subscribe, and get a verdict if one is given."""
        self.core.subscribe(SubscribeCommand(7, on_topic("x"), replay=True, window=window, order=order, bid=bid))
        if status is not None:
            self.verdict(status)
            sent(self.step)
            effects_of(self.step, Reply)

    def tick(self) -> None:
        """Half a heartbeat, as the node has it."""
        self.declarations.tick()
        self.core.tick()

    def verdict(self, status: VerdictStatus, version: int = 1, reason: Reason | None = None) -> None:
        """The super-node's word, as the node hands it on."""
        said = Verdict(ID, version, status, (), reason)
        if self.declarations.on_verdict(RULER, said):
            self.core.judged(said)

    def deliver(self, event: Event, *missed: Missed, id_: SubscriptionId = ID) -> list[Outcome]:
        """An owner delivers a parcel of one event; the outcomes it is told."""
        return [said.outcome for said in self.take(parcel_of(event), missed=missed, id_=id_)]

    def take(
        self,
        parcel: Parcel,
        wanted: bytes = b"",
        *,
        missed: tuple[Missed, ...] = (),
        id_: SubscriptionId = ID,
        sender: Contact = OWNER,
        age_us: int = 0,
        deadline_us: int = 0,
    ) -> tuple[OutcomeOf, ...]:
        """A parcel comes, of which a subscription wants some events or all; the outcomes that its sender is told."""
        self.number += 1
        is_promised = parcel.guarantee is Guarantee.EFFECTIVELY_ONCE
        want = Want(id_, wanted, self.number if is_promised else 0, 0, deadline_us)
        owner = PROCESS if is_promised else None
        self.core.on_deliver(sender, Deliver(parcel, Micros(age_us), (want,), missed, owner))
        answers = [(to, message) for to, message in sent(self.step) if isinstance(message, Delivered)]
        assert all((to, answer.parcel) == (sender, parcel.id) for to, answer in answers)
        return tuple(said for _, answer in answers for said in answer.outcomes)

    def bring(
        self,
        number: int,
        parcel: Parcel,
        *,
        settled: int = 0,
        sender: Contact | None = None,
        process: Process = PROCESS,
        id_: SubscriptionId = ID,
    ) -> list[tuple[Contact, Delivered]]:
        """A delivery of a stream comes, from its owner by default; everything that is answered by that, to whomever."""
        want = Want(id_, b"", number, settled)
        self.core.on_deliver(sender or process.contact, Deliver(parcel, Micros(0), (want,), (), process))
        return sent_of(self.step, Delivered)

    def acked(self, number: int, parcel: Parcel, *, settled: int = 0, process: Process = PROCESS) -> StreamAck:
        """A delivery of a stream comes; how far its owner is told that we are."""
        (_, answer), *_ = self.bring(number, parcel, settled=settled, process=process)
        (ack,) = answer.acks
        return ack

    def consume(self, count: int) -> list[tuple[Contact, WindowUpdate]]:
        """The application takes events from its channel; who hears that there is room."""
        self.core.consumed(ConsumedCommand(ID, count))
        return sent_of(self.step, WindowUpdate)

    def handed_over(self) -> list[int]:
        """Sequence numbers of the events given to the application since the last look."""
        return [event.id.sequence for notify in effects_of(self.step, Notify) for event in notify.events]


def record(version: int = 1, state: DeclarationState = ACTIVE) -> Subscription:
    """The subscription as it is asked for."""
    return Subscription(ID, version, state, CLUSTER, on_topic("x"), replay=True)
