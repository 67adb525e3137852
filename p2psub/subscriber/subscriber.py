"""The subscriber: asks for what the application wants, and hands each event over exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from p2psub.admission.declarations import Declarations, Declared
from p2psub.config import PubSubConfig
from p2psub.model.content import DeclarationState, Event, Guarantee, Subscription
from p2psub.model.digests import content_hash
from p2psub.model.effects import ConsumedCommand, Notify, NotifyGap, Reply, SubscribeCommand, UnsubscribeCommand
from p2psub.model.ids import Contact, EventId, NodeId, SubscriptionId
from p2psub.model.messages.pubsub import Deliver, Delivered, OutcomeOf, Verdict
from p2psub.model.outcomes import Missed, Outcome, SubscribeVerdict, VerdictStatus
from p2psub.model.parcels import Parcel, event_runs, first_places, from_bitmap, places_in, to_bitmap
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.seals import Leaf
from p2psub.model.step import Step
from p2psub.parcels.remembered import Remembered
from p2psub.parcels.replay_window import ReplayWindows
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.trace_sampler import TraceSampler

_Hashed = tuple[Event, Leaf]
"""An event and the hash of its content."""


@dataclass(frozen=True, slots=True)
class _Arrived:
    """A parcel that was checked."""

    parcel: Parcel
    first: EventId
    places: int
    leaves: list[Leaf]

    def events_at(self, places: int) -> list[_Hashed]:
        hashed = list(zip(self.parcel.events, self.leaves, strict=True))
        if places == self.places:
            return hashed
        return [one for one, place in zip(hashed, places_in(self.places), strict=True) if places >> place & 1]


@dataclass(slots=True)
class _Wanted:
    """One subscription of this process."""

    declared: Declared
    command: int
    window: int
    held_back: list[_Hashed] = field(default_factory=list)
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
        declarations: Declarations,
        sealer: Sealer,
        sampler: TraceSampler,
    ) -> None:
        self._step = step
        self._config = config
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
        """Hand over what is new and genuine; of what is promised, say how it ended here, or that it must wait."""
        parcel = deliver.parcel
        leaves = [content_hash(event) for event in parcel.events]
        if not parcel.is_sound() or not self._sealer.is_genuine(parcel, leaves):
            # No outcome: the node that altered it must not be able to discharge it.
            self._step.record(Kind.DROP, peer=peer.id, reason=Reason.BAD_SIGNATURE, count=len(leaves))
            return
        for missed in deliver.missed:
            self._note_missed(missed)
        arrived = _Arrived(parcel, parcel.first, parcel.places, leaves)
        wants: dict[SubscriptionId, int] = {}
        for id_, bitmap in deliver.wants:
            places = from_bitmap(bitmap, arrived.places)
            if places:
                # However often a sender names a subscription, it is looked at once.
                wants[id_] = wants.get(id_, 0) | places
        if parcel.guarantee is Guarantee.AT_MOST_ONCE:
            self._take_once(peer, arrived, wants)
            return
        is_old = deliver.age_us > self._config.too_old_us
        outcomes: list[OutcomeOf] = []
        for id_, places in wants.items():
            ended = self._refuse_old(id_, arrived, places) if is_old else self._take(peer, id_, arrived, places)
            outcomes += [OutcomeOf(id_, outcome, to_bitmap(some)) for outcome, some in ended.items() if some]
        self._step.send(peer, Delivered(parcel.id, tuple(outcomes)))

    def _refuse_old(self, id_: SubscriptionId, arrived: _Arrived, places: int) -> dict[Outcome, int]:
        """Older than our memory of what was handed over: it might be a second copy."""
        self._drop(id_, arrived, places, Reason.OLDER_THAN_TTL)
        return {Outcome.EXPIRED: places}

    def _note_missed(self, missed: Missed) -> None:
        """An owner's spool overflowed: tell the application, once, how many events it will never see."""
        id_, owner = missed.subscription, (missed.owner, missed.incarnation)
        wanted = self._wanted.get(id_)
        if wanted is not None and missed.count > wanted.missed.get(owner, 0):
            lost = missed.count - wanted.missed.get(owner, 0)
            wanted.missed[owner] = missed.count
            self._step.record(Kind.GAP, subscription=id_, count=lost, reason=Reason.SPOOL_FULL)
            self._step.effects.append(NotifyGap(id_, lost, Reason.SPOOL_FULL))

    def _take(self, peer: Contact, id_: SubscriptionId, arrived: _Arrived, places: int) -> dict[Outcome, int]:
        """Promised events for one subscription: hand over those that are new, as many as its channel takes."""
        wanted = self._wanted.get(id_)
        if wanted is None:
            self._drop(id_, arrived, places, Reason.ENDED)
            return {Outcome.ENDED: places}
        given = self._given.has(arrived.first, places, id_)
        for event, run in event_runs(arrived.first, given):
            self._step.record(
                Kind.DUPLICATE, event=event, run=run, subscription=id_, peer=peer.id, reason=Reason.DELIVERED_BEFORE
            )
        fresh = places & ~given
        if not wanted.declared.is_active:
            self._drop(id_, arrived, fresh, Reason.UNSUBSCRIBED)
            return {Outcome.DELIVERED: given, Outcome.UNSUBSCRIBED: fresh}
        fitting = first_places(fresh, max(0, wanted.window - len(wanted.held_back)))
        if fitting:
            self._given.note(arrived.first, fitting, id_, self._step.now)
            self._accept(wanted, arrived.events_at(fitting))
        # A full channel: the rest waits at its owner.
        return {Outcome.DELIVERED: given | fitting, Outcome.DEFERRED: fresh & ~fitting}

    def _drop(self, id_: SubscriptionId, arrived: _Arrived, places: int, reason: Reason) -> None:
        if id_ not in self._wanted:
            # By a count: a liar may name any number of subscriptions that were never ours.
            self._step.record(Kind.DROP, subscription=id_, reason=reason, count=places.bit_count())
            return
        for event, run in event_runs(arrived.first, places):
            self._step.record(Kind.DROP, event=event, run=run, subscription=id_, reason=reason)

    def _take_once(self, peer: Contact, arrived: _Arrived, wants: dict[SubscriptionId, int]) -> None:
        """Events that promise nothing: as many as there is room for; the sender does not hear what became of them."""
        for id_, places in wants.items():
            if not self._windows.is_new(arrived.parcel, peer, id_):
                continue
            wanted, count = self._wanted.get(id_), places.bit_count()
            if wanted is None or not wanted.declared.is_active:
                self._step.record(Kind.DROP, subscription=id_, reason=Reason.UNSUBSCRIBED, count=count)
                continue
            fitting = first_places(places, max(0, wanted.window - len(wanted.held_back)))
            if fitting:
                self._accept(wanted, arrived.events_at(fitting))
            missing = count - fitting.bit_count()
            if missing:
                wanted.gap += missing
                self._step.record(Kind.DROP, subscription=id_, reason=Reason.CHANNEL_FULL, count=missing)

    def _accept(self, wanted: _Wanted, events: list[_Hashed]) -> None:
        if wanted.declared.status is None:
            wanted.held_back += events
        else:
            self._hand_over(wanted, events)

    def _hand_over(self, wanted: _Wanted, hashed: list[_Hashed]) -> None:
        id_ = wanted.declared.record.id
        self._tell_gap(wanted)
        wanted.window -= len(hashed)
        events = [event for event, _ in hashed]
        traced = self._sampler.sample(Kind.DELIVER, events)
        is_whole = len(traced) == len(events)
        leaf_of = {event.id: leaf for event, leaf in hashed} if not is_whole else {}
        leaves = [leaf for _, leaf in hashed] if is_whole else [leaf_of[event.id] for event in traced]
        for first, count in _rows(traced):
            run, digest = None if count == 1 else count, b"".join(leaves[first : first + count])
            self._step.record(Kind.DELIVER, event=traced[first].id, run=run, subscription=id_, digest=digest)
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


def _rows(events: list[Event]) -> Iterator[tuple[int, int]]:
    """Where events of one publisher whose numbers are in a row begin, and how many they are."""
    first = 0
    for index in range(1, len(events) + 1):
        if index < len(events):
            node, incarnation, sequence = events[index - 1].id
            if events[index].id == (node, incarnation, sequence + 1):
                continue
        yield first, index - first
        first = index
