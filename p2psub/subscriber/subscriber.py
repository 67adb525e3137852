"""The subscriber: asks for what the application wants, and hands each event over exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from p2psub.admission.declarations import Declarations
from p2psub.config import PubSubConfig
from p2psub.model.bids import limit_us
from p2psub.model.content import DeclarationState, Order, Subscription
from p2psub.model.digests import content_hash
from p2psub.model.effects import ConsumedCommand, Reply, SubscribeCommand, UnsubscribeCommand
from p2psub.model.ids import Contact, Process, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.declarations import Verdict
from p2psub.model.messages.pubsub import Deliver, StreamAck, Want, WindowUpdate
from p2psub.model.outcomes import Missed, Outcome, SubscribeVerdict, VerdictStatus
from p2psub.model.parcel_parts import first_of, is_promised, is_sound, places_of
from p2psub.model.place_sets import event_runs, first_places, from_bitmap
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.parcels.books import Books
from p2psub.parcels.remembered import Remembered
from p2psub.parcels.replay_window import ReplayWindows
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.trace_sampler import TraceSampler
from p2psub.subscriber.checked_parcel import CheckedParcel
from p2psub.subscriber.delivery_answer import DeliveryAnswer
from p2psub.subscriber.hand_overs import HandOvers
from p2psub.subscriber.held_subscription import Arrived, HeldSubscription
from p2psub.subscriber.inflow import Inflow
from p2psub.subscriber.publisher_order import PublisherOrder

# Looked up once: a member of an enumeration costs as much as a call, and every delivery asks for these.
_DELIVERED: Final = Outcome.DELIVERED
_DEFERRED: Final = Outcome.DEFERRED
_IDLE_TICKS: Final = 240
"""A stream by which nothing came for this long is forgotten: its owner says again where it stands. A guess."""
_EARLY_MAX: Final = 256
"""Deliveries of one stream that may wait for an earlier one; those beyond it are repeated by their owner."""
_EARLY_IN_ALL_MAX: Final = 1024
"""The same of all streams of a subscription: a liar may begin any number of them."""
_ROOM_SHARE: Final = 4
"""A channel with less room than this part of its window counts as full: a few events at a time are work for nothing."""


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
        declarations: Declarations,
        sealer: Sealer,
        sampler: TraceSampler,
        *,
        may_be_refused: bool = False,
    ) -> None:
        self._step = step
        self._may_be_refused = may_be_refused
        """Whether owners vote: then nothing is taken from them before the verdict."""
        self._remembered_us = config.remembered_us
        self._too_old_us = config.too_old_us
        self._declarations = declarations
        self._sealer = sealer
        self._hand_overs = HandOvers(step, sampler)
        self._wanted: dict[SubscriptionId, HeldSubscription] = {}
        self._given: Remembered[SubscriptionId] = Remembered(config.remembered_us)
        self._windows = ReplayWindows(step)
        self._serial = 0
        """How many acknowledgements of streams were given."""

    @property
    def books(self) -> Books:
        """Of what promises nothing."""
        return self._hand_overs.books

    def status(self) -> SubscriberStatus:
        active = [i for i, w in self._wanted.items() if w.declared.record.state is DeclarationState.ACTIVE]
        return SubscriberStatus(tuple(active))

    # Wanting

    def subscribe(self, command: SubscribeCommand) -> None:
        id_, cluster = self._declarations.next_id(), self._declarations.cluster
        state, order = DeclarationState.ACTIVE, command.order
        record = Subscription(id_, 1, state, cluster, command.filter, command.replay, order, command.bid)
        self._step.record(Kind.SUBSCRIBE, subscription=id_, subscribed=record)
        declared = self._declarations.declare(record)
        guard = PublisherOrder(self._remembered_us) if order is Order.PUBLISHER else None
        room_min = max(1, command.window // _ROOM_SHARE)
        self._wanted[id_] = HeldSubscription(declared, command.number, command.window, room_min, guard, command.bid)

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
            Kind.VERDICT,
            subscription=verdict.id,
            status=verdict.status,
            state=state,
            unreached=unreached,
            reason=verdict.reason,
            version=verdict.version,
        )
        result = SubscribeVerdict(verdict.id, verdict.status, verdict.unreached, verdict.reason, verdict.demand)
        self._step.effects.append(Reply(wanted.command, result))
        if wanted.declared.status is VerdictStatus.REFUSED:
            self._hand_overs.free(wanted)
        else:
            self._hand_overs.release(wanted)
        if wanted.is_pressed:
            wanted.is_pressed = False
            self._open_windows(wanted)

    # Taking

    def on_deliver(self, peer: Contact, deliver: Deliver) -> None:
        """Hand over what is new and genuine; of what is promised, say how it ended here, or that it must wait."""
        parcel = deliver.parcel
        leaves = [content_hash(event) for event in parcel.events]
        if not is_sound(parcel) or not self._sealer.is_genuine(parcel, leaves):
            # No outcome: the node that altered it must not be able to discharge it.
            self._step.record(Kind.DROP, peer=peer.id, reason=Reason.BAD_SIGNATURE, count=len(leaves))
            return
        for missed in deliver.missed:
            self._note_missed(missed)
        born_us = Micros(self._step.now - deliver.age_us)
        checked = CheckedParcel(parcel, first_of(parcel), places_of(parcel), leaves, born_us)
        named: dict[SubscriptionId, int] = {}
        wants: list[tuple[Want, int]] = []
        for want in deliver.wants:
            known = named.get(want.subscription, 0)
            places = from_bitmap(want.bitmap, checked.places) & ~known
            if places:
                # However often a sender names an event for a subscription, it is looked at once.
                named[want.subscription] = known | places
                wants.append((want, places))
        if not is_promised(parcel):
            deadlines_us = {want.subscription: want.deadline_us for want in deliver.wants}
            self._take_once(peer, checked, {id_: (places, deadlines_us[id_]) for id_, places in named.items()})
            return
        is_old = deliver.age_us > self._too_old_us
        answer = DeliveryAnswer(peer, parcel.id, deliver.owner)
        stream = deliver.owner if self._may_number(peer, deliver.owner) else None
        for want, places in wants:
            id_ = want.subscription
            wanted = self._wanted.get(id_)
            if is_old:
                answer.add(id_, self._refuse_old(id_, checked, places))
            elif wanted is not None and stream is not None:
                self._take_by_stream(answer, stream, want, checked, places)
            elif wanted is None or wanted.order is None or deliver.owner is None:
                answer.add(id_, self._take(peer, id_, checked, places, want.deadline_us))
            else:
                # Without a number nobody knows its turn: its owner hears nothing, and repeats it.
                self._drop(id_, checked, places, Reason.UNEXPECTED_MESSAGE)
        self._step.send(peer, answer.as_message())

    def _may_number(self, peer: Contact, owner: Process | None) -> bool:
        """An owner speaks for its own streams, our super-node for those of all: any other might end them."""
        return owner is not None and (peer.id == owner.contact.id or self._declarations.is_super_node(peer))

    def _take_by_stream(
        self, answer: DeliveryAnswer, owner: Process, want: Want, checked: CheckedParcel, places: int
    ) -> None:
        """Take what a stream brings if it is its turn, and what that was waiting for it; say how far we are."""
        id_, number = want.subscription, want.number
        wanted = self._wanted[id_]
        inflow = wanted.inflow_of(owner, self._step.tick)
        inflow.skip_to(want.settled)
        if wanted.order is not None and number <= inflow.contiguous:
            # A late repetition: what we do not have of it comes again, under a number of its turn.
            answer.add(id_, {_DELIVERED: self._given.has(checked.first, places, id_)})
        elif wanted.order is not None and number > inflow.contiguous + 1:
            if len(inflow.early) < _EARLY_MAX and wanted.early < _EARLY_IN_ALL_MAX:
                # Beyond that its owner hears nothing, and repeats it.
                inflow.early[number] = (answer.peer, checked, places, want.deadline_us)
        else:
            self._take_number(answer, wanted, inflow, number, checked, places, want.deadline_us)
        self._release_early(wanted, inflow)
        answer.acks.append(self._ack(wanted, inflow))

    def _take_number(
        self,
        answer: DeliveryAnswer,
        wanted: HeldSubscription,
        inflow: Inflow,
        number: int,
        checked: CheckedParcel,
        places: int,
        deadline_us: int,
    ) -> None:
        id_ = wanted.declared.record.id
        ended = self._take(answer.peer, id_, checked, places, deadline_us)
        if ended.get(_DELIVERED) == places:
            inflow.take(number)
        answer.add(id_, ended)

    def _release_early(self, wanted: HeldSubscription, inflow: Inflow) -> None:
        """What came too early has its turn; its senders are answered as if it came now."""
        while (number := inflow.next_early) is not None:
            peer, checked, places, deadline_us = inflow.early.pop(number)
            answer = DeliveryAnswer(peer, checked.parcel.id, inflow.owner)
            self._take_number(answer, wanted, inflow, number, checked, places, deadline_us)
            answer.acks.append(self._ack(wanted, inflow))
            # A super-node that brought it has answered long ago, and would hear in vain that there is no room.
            for to in dict.fromkeys((peer, inflow.owner.contact)):
                self._step.send(to, answer.as_message())

    def _ack(self, wanted: HeldSubscription, inflow: Inflow, share: int = 1) -> StreamAck:
        room = wanted.room // share
        inflow.is_stopped = not room
        self._serial += 1
        return StreamAck(wanted.declared.record.id, self._serial, inflow.contiguous, inflow.beyond, room)

    def _refuse_old(self, id_: SubscriptionId, checked: CheckedParcel, places: int) -> dict[Outcome, int]:
        """Older than our memory of what was handed over: it might be a second copy."""
        self._drop(id_, checked, places, Reason.OLDER_THAN_TTL)
        return {Outcome.UNREACHABLE: places}

    def _note_missed(self, missed: Missed) -> None:
        """An owner's spool overflowed: tell the application, once, how many events it will never see."""
        id_, owner = missed.subscription, (missed.owner, missed.incarnation)
        wanted = self._wanted.get(id_)
        if wanted is not None and missed.count > wanted.missed.get(owner, 0):
            lost = missed.count - wanted.missed.get(owner, 0)
            wanted.missed[owner] = missed.count
            self._hand_overs.notify_gap(id_, lost, Reason.SPOOL_FULL)

    def _take(
        self, peer: Contact, id_: SubscriptionId, checked: CheckedParcel, places: int, deadline_us: int
    ) -> dict[Outcome, int]:
        """Promised events for one subscription: hand over those that are new, in time, as many as its channel takes."""
        wanted = self._wanted.get(id_)
        if wanted is None:
            self._drop(id_, checked, places, Reason.ENDED)
            return {Outcome.ENDED: places}
        given = self._given.has(checked.first, places, id_)
        for event, run in event_runs(checked.first, given):
            self._step.record(
                Kind.DUPLICATE, event=event, run=run, subscription=id_, peer=peer.id, reason=Reason.DELIVERED_BEFORE
            )
        fresh = places & ~given
        if not wanted.declared.is_active:
            reason = wanted.why_inactive
            self._drop(id_, checked, fresh, reason)
            return {_DELIVERED: given, Outcome(reason.value): fresh}
        limit = limit_us(checked.parcel.events[0].timeout_us, deadline_us)
        if 0 < limit < self._step.now - checked.born_us:
            self._drop(id_, checked, fresh, Reason.EXPIRED)
            return {_DELIVERED: given, Outcome.EXPIRED: fresh}
        if (limit or self._may_be_refused) and wanted.declared.status is None:
            # Held back here it might be too late, or refused, and its owner would take it for delivered.
            wanted.is_pressed = True
            return {_DELIVERED: given, _DEFERRED: fresh}
        fitting = first_places(fresh, max(0, wanted.window - len(wanted.held_back)))
        if fitting:
            self._given.note(checked.first, fitting, id_, self._step.now)
            self._accept(wanted, checked, fitting, limit)
        # A full channel: the rest waits at its owner.
        return {_DELIVERED: given | fitting, _DEFERRED: fresh & ~fitting}

    def _drop(self, id_: SubscriptionId, checked: CheckedParcel, places: int, reason: Reason) -> None:
        if id_ not in self._wanted:
            # By a count: a liar may name any number of subscriptions that were never ours.
            self._step.record(Kind.DROP, subscription=id_, reason=reason, count=places.bit_count())
            return
        for event, run in event_runs(checked.first, places):
            self._step.record(Kind.DROP, event=event, run=run, subscription=id_, reason=reason)

    def _take_once(self, peer: Contact, checked: CheckedParcel, wants: dict[SubscriptionId, tuple[int, int]]) -> None:
        """Events that promise nothing: as many as there is room for; the sender does not hear what became of them."""
        for id_, (places, deadline_us) in wants.items():
            if not self._windows.is_new(checked.parcel, peer, id_):
                continue
            wanted, count = self._wanted.get(id_), places.bit_count()
            if wanted is None or not wanted.declared.is_active:
                reason = Reason.UNSUBSCRIBED if wanted is None else wanted.why_inactive
                self._step.record(Kind.DROP, subscription=id_, reason=reason, count=count)
                continue
            limit = limit_us(checked.parcel.timeout_us, deadline_us)
            if 0 < limit < self._step.now - checked.born_us:
                self._hand_overs.drop_late(wanted, checked.parcel.timeout_us, checked.born_us, count)
                continue
            fitting = first_places(places, max(0, wanted.window - len(wanted.held_back)))
            if fitting:
                self._accept(wanted, checked, fitting, limit)
            missing = count - fitting.bit_count()
            if missing:
                wanted.gap += missing
                self._step.record(Kind.DROP, subscription=id_, reason=Reason.CHANNEL_FULL, count=missing)

    def _accept(self, wanted: HeldSubscription, checked: CheckedParcel, places: int, limit: int) -> None:
        events, born_us = checked.events_at(places), checked.born_us
        if wanted.declared.status is None:
            wanted.held_back += [(event, born_us, limit) for event in events]
        else:
            self._hand_overs.give(wanted, [Arrived(events, born_us, limit)])

    def consumed(self, command: ConsumedCommand) -> None:
        """The application made room: first of all it hears what it missed, then the owners that wait hear of it."""
        wanted = self._wanted.get(command.subscription)
        if wanted is not None:
            wanted.window += command.count
            self._hand_overs.tell_gap(wanted)
            self._open_windows(wanted)

    def _open_windows(self, wanted: HeldSubscription) -> None:
        """Owners that were told of a full channel share the room there is now."""
        stopped = [inflow for inflow in wanted.inflows.values() if inflow.is_stopped]
        share = max(1, min(len(stopped), wanted.room))
        for inflow in stopped if wanted.room else ():
            self._step.send(inflow.owner.contact, WindowUpdate(inflow.owner, (self._ack(wanted, inflow, share),)))

    def tick(self) -> None:
        """Forget what has ended everywhere, and what is older than any live copy."""
        for id_ in [id_ for id_, wanted in self._wanted.items() if wanted.declared.is_over]:
            del self._wanted[id_]
        self._given.forget(self._step.now)
        self.books.tick()
        if self._step.tick % _IDLE_TICKS == 0:
            for wanted in self._wanted.values():
                # By then a delivery that never came has been repeated, or its owner is gone with its stream.
                idle = [name for name, i in wanted.inflows.items() if self._step.tick - i.used_tick >= _IDLE_TICKS]
                for name in idle:
                    del wanted.inflows[name]
