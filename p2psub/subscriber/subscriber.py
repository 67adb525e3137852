"""The subscriber: asks for what the application wants, and hands each event over exactly once."""

from __future__ import annotations

from dataclasses import dataclass, field

from p2psub.admission.declarations import Declarations, Declared
from p2psub.config import PubSubConfig
from p2psub.model.content import DeclarationState, Event, Guarantee, Subscription
from p2psub.model.digests import content_hash
from p2psub.model.effects import ConsumedCommand, Notify, NotifyGap, Reply, SubscribeCommand, UnsubscribeCommand
from p2psub.model.ids import Contact, NodeId, SubscriptionId
from p2psub.model.messages.pubsub import Deliver, Delivered, ParcelToSubscriber, Verdict
from p2psub.model.outcomes import Missed, Outcome, SubscribeVerdict, VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.parcels.remembered import Remembered
from p2psub.parcels.replay_window import ReplayWindows
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.shipment import Shipment
from p2psub.parcels.trace_sampler import TraceSampler


@dataclass(slots=True)
class _Wanted:
    """One subscription of this process."""

    declared: Declared
    command: int
    window: int
    held_back: list[Event] = field(default_factory=list)
    """Arrived before the verdict."""
    gap: int = 0
    missed: dict[tuple[NodeId, int], int] = field(default_factory=dict)
    """Per process of an owner: how many events its spool dropped, as told so far."""


@dataclass(frozen=True, slots=True)
class SubscriberStatus:
    """What a subscriber shows of itself."""

    subscriptions: tuple[SubscriptionId, ...]
    """Those that were not ended here."""


class Subscriber:
    """All subscriptions of this process, and what they have been given."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        election: Election,
        declarations: Declarations,
        sealer: Sealer,
        sampler: TraceSampler,
    ) -> None:
        self._step = step
        self._config = config
        self._election = election
        self._declarations = declarations
        self._sealer = sealer
        self._sampler = sampler
        self._wanted: dict[SubscriptionId, _Wanted] = {}
        self._given: Remembered[SubscriptionId] = Remembered(config.remembered_us)
        self._windows = ReplayWindows(step)

    def status(self) -> SubscriberStatus:
        active = [i for i, w in self._wanted.items() if w.declared.record.state is DeclarationState.ACTIVE]
        return SubscriberStatus(tuple(active))

    # Wanting

    def subscribe(self, command: SubscribeCommand) -> None:
        id_, cluster = self._declarations.next_id(), self._declarations.cluster
        record = Subscription(id_, 1, DeclarationState.ACTIVE, cluster, command.filter, command.replay)
        self._step.record(Kind.SUBSCRIBE, subscription=id_, subscribed=record)
        declared = self._declarations.declare(record)
        self._wanted[id_] = _Wanted(declared, command.number, command.window)

    def unsubscribe(self, command: UnsubscribeCommand) -> None:
        wanted = self._wanted.get(command.subscription)
        if wanted is None or wanted.declared.record.state is DeclarationState.ENDED:
            return
        self._step.record(Kind.UNSUBSCRIBE, subscription=command.subscription)
        wanted.command = command.number
        wanted.held_back.clear()
        self._declarations.end(wanted.declared)

    def judged(self, verdict: Verdict) -> None:
        """A subscription of ours, if it is one, has a new status: tell the application."""
        wanted = self._wanted.get(verdict.id)
        if wanted is None:
            return
        state, unreached = wanted.declared.record.state, len(verdict.unreached)
        self._step.record(
            Kind.VERDICT, subscription=verdict.id, status=verdict.status, state=state, unreached=unreached
        )
        result = SubscribeVerdict(verdict.id, verdict.status, verdict.unreached)
        self._step.effects.append(Reply(wanted.command, result))
        self._release(wanted)

    def _release(self, wanted: _Wanted) -> None:
        if wanted.declared.status in (VerdictStatus.STABLE, VerdictStatus.ACCEPTED):
            held_back, wanted.held_back = wanted.held_back, []
            if held_back:
                self._hand_over(wanted, held_back)

    # Taking

    def on_deliver(self, peer: Contact, deliver: Deliver) -> None:
        """Hand over what is new; say for each subscription how it ended here, or that it must wait."""
        event = deliver.timed.event
        if not self._sealer.is_genuine(event):
            # No outcome: the node that altered it must not be able to discharge it.
            self._step.record(Kind.DROP, event=event.id, peer=peer.id, reason=Reason.BAD_SIGNATURE)
            return
        if event.guarantee is Guarantee.AT_MOST_ONCE and not self._is_from_super_node(peer):
            # Others hand it over in parcels, whose numbers are remembered: by both ways it would come twice.
            self._step.record(Kind.DROP, event=event.id, peer=peer.id, reason=Reason.NOT_SUPER_NODE)
            return
        for missed in deliver.missed:
            self._note_missed(missed)
        if deliver.timed.age_us > self._config.too_old_us:
            outcomes = tuple((id_, self._refuse_old(id_, event)) for id_ in deliver.subscriptions)
        else:
            outcomes = tuple((id_, self._take(peer, id_, event)) for id_ in deliver.subscriptions)
        if event.guarantee is Guarantee.EFFECTIVELY_ONCE:
            self._step.send(peer, Delivered(event.id, outcomes))

    def _is_from_super_node(self, peer: Contact) -> bool:
        super_node = self._election.super_node
        return peer.id == self._step.me.id or (super_node is not None and peer.id == super_node.id)

    def _note_missed(self, missed: Missed) -> None:
        """An owner's spool overflowed: tell the application, once, how many events it will never see."""
        id_, owner = missed.subscription, (missed.owner, missed.incarnation)
        wanted = self._wanted.get(id_)
        if wanted is not None and missed.count > wanted.missed.get(owner, 0):
            lost = missed.count - wanted.missed.get(owner, 0)
            wanted.missed[owner] = missed.count
            self._step.record(Kind.GAP, subscription=id_, count=lost, reason=Reason.SPOOL_FULL)
            self._step.effects.append(NotifyGap(id_, lost, Reason.SPOOL_FULL))

    def _take(self, peer: Contact, id_: SubscriptionId, event: Event) -> Outcome:
        wanted = self._wanted.get(id_)
        if wanted is None:
            self._step.record(Kind.DROP, event=event.id, subscription=id_, reason=Reason.ENDED)
            return Outcome.ENDED
        if self._given.has(event.id, id_):
            self._step.record(
                Kind.DUPLICATE, event=event.id, subscription=id_, peer=peer.id, reason=Reason.DELIVERED_BEFORE
            )
            return Outcome.DELIVERED
        if not wanted.declared.is_active:
            self._step.record(Kind.DROP, event=event.id, subscription=id_, reason=Reason.UNSUBSCRIBED)
            return Outcome.UNSUBSCRIBED
        if wanted.window - len(wanted.held_back) <= 0:
            return self._refuse_full(wanted, event)
        self._given.note(event.id, id_, self._step.now)
        if wanted.declared.status is None:
            wanted.held_back.append(event)
        else:
            self._hand_over(wanted, [event])
        return Outcome.DELIVERED

    def on_parcel_to_subscriber(self, peer: Contact, sent: ParcelToSubscriber) -> None:
        """Hand over what is new and genuine; the sender does not hear what became of it."""
        parcel = sent.parcel
        if not Shipment(parcel, ()).is_sound() or not self._sealer.is_genuine_parcel(parcel):
            self._step.record(Kind.DROP, peer=peer.id, reason=Reason.BAD_SIGNATURE, count=len(parcel.events))
            return
        for id_, indexes in sent.wanted:
            if indexes and (max(indexes) >= len(parcel.events) or len(set(indexes)) < len(indexes)):
                self._step.record(Kind.DROP, peer=peer.id, reason=Reason.NO_SUCH_EVENT, count=len(indexes))
            elif self._windows.is_new(parcel, peer, id_):
                events = [parcel.events[index] for index in indexes] if indexes else list(parcel.events)
                self._take_parcel(id_, events)

    def _take_parcel(self, id_: SubscriptionId, events: list[Event]) -> None:
        """Hand over events that promise nothing, as many as there is room for."""
        wanted = self._wanted.get(id_)
        if wanted is None or not wanted.declared.is_active:
            self._step.record(Kind.DROP, subscription=id_, reason=Reason.UNSUBSCRIBED, count=len(events))
            return
        room = max(0, wanted.window - len(wanted.held_back))
        fitting, missing = events[:room], len(events) - room
        if wanted.declared.status is None:
            wanted.held_back += fitting
        elif fitting:
            self._hand_over(wanted, fitting)
        if missing > 0:
            wanted.gap += missing
            self._step.record(Kind.DROP, subscription=id_, reason=Reason.CHANNEL_FULL, count=missing)

    def _refuse_old(self, id_: SubscriptionId, event: Event) -> Outcome:
        """Older than our memory of what was handed over: it might be a second copy."""
        self._step.record(Kind.DROP, event=event.id, subscription=id_, reason=Reason.OLDER_THAN_TTL)
        return Outcome.EXPIRED

    def _refuse_full(self, wanted: _Wanted, event: Event) -> Outcome:
        """A full channel: a promised event waits at its owner, any other becomes a gap."""
        if event.guarantee is Guarantee.AT_MOST_ONCE:
            wanted.gap += 1
            self._step.record(
                Kind.DROP, event=event.id, subscription=wanted.declared.record.id, reason=Reason.CHANNEL_FULL
            )
        return Outcome.DEFERRED

    def _hand_over(self, wanted: _Wanted, events: list[Event]) -> None:
        id_ = wanted.declared.record.id
        self._tell_gap(wanted)
        wanted.window -= len(events)
        for event in self._sampler.sample(Kind.DELIVER, events):
            self._step.record(Kind.DELIVER, event=event.id, subscription=id_, digest=content_hash(event))
        self._step.effects.append(Notify(id_, events))

    def _tell_gap(self, wanted: _Wanted) -> None:
        if wanted.gap:
            id_ = wanted.declared.record.id
            self._step.record(Kind.GAP, subscription=id_, count=wanted.gap, reason=Reason.CHANNEL_FULL)
            self._step.effects.append(NotifyGap(id_, wanted.gap, Reason.CHANNEL_FULL))
            wanted.gap = 0

    def consumed(self, command: ConsumedCommand) -> None:
        """The application made room: first of all it hears what it missed."""
        wanted = self._wanted.get(command.subscription)
        if wanted is not None:
            wanted.window += command.count
            self._tell_gap(wanted)

    def tick(self) -> None:
        """Forget what has ended everywhere, and what is older than any live copy."""
        for id_ in [id_ for id_, wanted in self._wanted.items() if wanted.declared.is_over]:
            del self._wanted[id_]
        self._given.forget(self._step.now)
