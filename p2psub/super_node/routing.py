"""The super-node carries events between clusters: one multicast out, one message per subscribing peer in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from p2psub.casts.cast import Casts
from p2psub.model.bids import NO_BID, Bid, is_late
from p2psub.model.content import DeclarationState, Guarantee, Subscription
from p2psub.model.ids import CastId, ClusterId, Contact, NodeId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.casts import EventPayload, EventSummary, Summary, Target
from p2psub.model.messages.pubsub import Deliver, Delivered, OutcomeOf, Route, Routed, StreamAck, Want
from p2psub.model.outcomes import Outcome
from p2psub.model.parcels import Parcel, ParcelId
from p2psub.model.place_sets import from_bitmap, to_bitmap
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.directory import Directory
from p2psub.parcels.shipment import Places, Shipment, delivery
from p2psub.super_node.change_set import ChangeSet

_PATIENCE_TICKS: Final = 4
"""How long a cast waits for subscribing peers; the owner tries those that are late again. A guess: two heartbeats."""


@dataclass(slots=True)
class _Unanswered:
    """A peer of our cluster that has not answered for everything yet."""

    contact: Contact
    deliver: Deliver
    unanswered: dict[SubscriptionId, int]
    """Places of the events without an outcome."""


@dataclass(slots=True)
class _Arriving:
    """A parcel being handed to the peers of our cluster."""

    waiting: dict[NodeId, _Unanswered]
    outcomes: list[OutcomeOf]
    acks: dict[SubscriptionId, StreamAck]
    arrived_us: Micros
    arrived_tick: int
    sent_tick: int


class Routing:
    """Events that pass through a super-node in one term."""

    def __init__(
        self,
        step: Step,
        changes: ChangeSet,
        directory: Directory,
        cluster: ClusterId,
        contact_of: Callable[[NodeId], Contact | None],
        casts: Casts,
    ) -> None:
        self._step = step
        self._changes = changes
        self._directory = directory
        self._cluster = cluster
        self._contact_of = contact_of
        self._arriving: dict[ParcelId, dict[CastId, _Arriving]] = {}
        self._casts = casts

    # Out

    def on_route(self, peer: Contact, route: Route) -> None:
        """Cast the events to the clusters of the subscriptions they are owed to, and report what became of them."""
        if not route.parcel.is_sound():
            self._step.record(Kind.DROP, peer=peer.id, reason=Reason.FOREIGN_EVENT, count=len(route.parcel.events))
            return
        targets: list[Target] = []
        parcel, owner = route.parcel.id, route.owner
        late: list[OutcomeOf] = []
        for cluster, wants, bids in route.wants:
            entry = self._directory.get(cluster)
            in_time = self._in_time(route.parcel, route.age_us, wants, late) if bids else wants
            if entry is not None and in_time:
                targets.append((cluster, entry.prefix, in_time, bids))
        if late and owner is not None:
            self._step.send(peer, Routed(route.attempt, parcel, tuple(late), owner))

        def report(summary: Summary, _: bool) -> None:
            assert isinstance(summary, EventSummary)
            if summary.outcomes or summary.acks:
                self._step.send(peer, Routed(route.attempt, parcel, summary.outcomes, owner, summary.acks))

        if targets:
            payload = EventPayload(route.parcel, route.age_us, tuple(targets), route.missed, owner)
            self._casts.start(payload, report)

    def _in_time(
        self, parcel: Parcel, age_us: Micros, wants: tuple[Want, ...], late: list[OutcomeOf]
    ) -> tuple[Want, ...]:
        """The wants whose time is not over. Nothing is sent for the others; their outcomes are added to `late`."""
        in_time: list[Want] = []
        for want in wants:
            if not is_late(age_us, parcel.timeout_us, want.deadline_us):
                in_time.append(want)
                continue
            id_, places = want.subscription, from_bitmap(want.bitmap, parcel.places)
            if places:
                self._step.record(Kind.DROP, subscription=id_, reason=Reason.EXPIRED, count=places.bit_count())
                late.append(OutcomeOf(id_, Outcome.EXPIRED, to_bitmap(places)))
        return tuple(in_time)

    # In

    def take(self, cast: CastId, payload: EventPayload) -> None:
        """Our cluster's part: hand the events to their subscribers here."""
        parcel, whole = payload.parcel, payload.parcel.places
        arriving = _Arriving({}, [], {}, self._step.now, self._step.tick, self._step.tick)
        by_peer: dict[NodeId, list[Places]] = {}
        wants: list[Want] = []
        for cluster, _, some_wants, bids in payload.targets if parcel.is_sound() else ():
            if cluster == self._cluster:
                in_time = self._in_time(parcel, payload.age_us, some_wants, arriving.outcomes) if bids else some_wants
                wants += in_time
        for id_, bitmap, number, settled, deadline_us in wants:
            places, known = from_bitmap(bitmap, whole), self._changes.current(id_)
            if places and known is not None and known.record.state is DeclarationState.ENDED:
                arriving.outcomes.append(OutcomeOf(id_, Outcome.ENDED, to_bitmap(places)))
            elif places:
                # Also one we never heard of: its number may have died with its super-node. Its peer knows best.
                bid = Bid(deadline_us) if deadline_us else None
                if known is not None and isinstance(known.record, Subscription) and known.record.bid != NO_BID:
                    bid = msgspec.structs.replace(known.record.bid, deadline_us=deadline_us)
                by_peer.setdefault(id_.node, []).append((id_, places, number, settled, bid))
        for node, some in by_peer.items():
            contact = self._contact_of(node)
            if contact is not None:
                deliver = delivery(Shipment(parcel), payload.age_us, some, payload.missed, payload.owner)
                self._step.send(contact, deliver)
                unanswered: dict[SubscriptionId, int] = {}
                for id_, places, *_ in some:
                    unanswered[id_] = unanswered.get(id_, 0) | places
                arriving.waiting[node] = _Unanswered(contact, deliver, unanswered)
        if parcel.guarantee is Guarantee.AT_MOST_ONCE:
            arriving.waiting.clear()
        if arriving.waiting:
            self._arriving.setdefault(parcel.id, {})[cast] = arriving
        else:
            self._answer(cast, arriving)

    def on_delivered(self, peer: Contact, delivered: Delivered) -> None:
        for cast, arriving in list(self._arriving.get(delivered.parcel, {}).items()):
            waiting = arriving.waiting.get(peer.id)
            if waiting is None:
                continue
            for said in delivered.outcomes:
                answered = from_bitmap(said.bitmap, waiting.unanswered.get(said.subscription, 0))
                if answered:
                    arriving.outcomes.append(OutcomeOf(said.subscription, said.outcome, to_bitmap(answered)))
                    waiting.unanswered[said.subscription] &= ~answered
            if delivered.owner == waiting.deliver.owner:
                # Two owners may send the same events: each has its own streams.
                for ack in delivered.acks:
                    known = arriving.acks.get(ack.subscription)
                    if ack.subscription in waiting.unanswered and (known is None or known.serial < ack.serial):
                        arriving.acks[ack.subscription] = ack
            if not any(waiting.unanswered.values()):
                del arriving.waiting[peer.id]
                if not arriving.waiting:
                    self._finish(delivered.parcel, cast)

    def _finish(self, parcel: ParcelId, cast: CastId) -> None:
        arriving = self._arriving[parcel].pop(cast)
        if not self._arriving[parcel]:
            del self._arriving[parcel]
        self._answer(cast, arriving)

    def _answer(self, cast: CastId, arriving: _Arriving) -> None:
        self._casts.answer_locally(cast, EventSummary(tuple(arriving.outcomes), tuple(arriving.acks.values())))

    def tick(self) -> None:
        """Repeat to peers that have not answered; answer for those that have when patience ends."""
        open_casts = [(parcel, cast, a) for parcel, by in self._arriving.items() for cast, a in by.items()]
        for parcel, cast, arriving in open_casts:
            if self._step.tick - arriving.arrived_tick >= _PATIENCE_TICKS:
                self._finish(parcel, cast)
            elif self._step.tick - arriving.sent_tick >= 2:
                arriving.sent_tick = self._step.tick
                for waiting in arriving.waiting.values():
                    self._step.send(waiting.contact, waiting.deliver.aged(self._step.now - arriving.arrived_us))
