"""The super-node carries events between clusters: one multicast out, one message per subscribing peer in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from p2psub.casts.cast import Casts, is_doubled
from p2psub.model.bids import NO_BID, Bid, is_late
from p2psub.model.content import DeclarationState, Subscription
from p2psub.model.ids import CastId, ClusterId, Contact, NodeId, Process, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.casts import EventPayload, EventSummary, Summary, Target
from p2psub.model.messages.pubsub import Deliver, Delivered, OutcomeOf, Route, Routed, StreamAck, Want
from p2psub.model.outcomes import Outcome
from p2psub.model.parcel_parts import is_promised, is_sound, places_of
from p2psub.model.parcels import Parcel, ParcelId
from p2psub.model.place_sets import from_bitmap, to_bitmap, union_of
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.model.transmission import Transmission
from p2psub.overlay.directory import Directory
from p2psub.parcels.shipment import Places, Shipment, delivery
from p2psub.super_node.change_set import ChangeSet

_PATIENCE_TICKS: Final = 2
_TRIES_MAX: Final = 2
"""How often a subscribing peer is asked; the owner tries those that are late again. A guess: two heartbeats in all."""

_TELL_TICKS: Final = 8
"""An owner hears after this time that its events are still under way, then after twice that, and so on."""


class _Unanswered:
    """A peer of our cluster that has not answered for everything yet."""

    __slots__ = ("contact", "deliver", "transmission", "tries", "unanswered")

    def __init__(
        self, contact: Contact, deliver: Deliver, unanswered: dict[SubscriptionId, int], transmission: Transmission
    ) -> None:
        self.contact = contact
        self.deliver = deliver
        self.unanswered = unanswered
        """Places of the events without an outcome."""
        self.transmission = transmission
        self.tries = 1


class _Arriving:
    """A parcel being handed to the peers of our cluster."""

    __slots__ = ("acks", "arrived_us", "outcomes", "waiting")

    def __init__(self, arrived_us: Micros) -> None:
        self.waiting: dict[NodeId, _Unanswered] = {}
        self.outcomes: list[OutcomeOf] = []
        self.acks: dict[SubscriptionId, StreamAck] = {}
        self.arrived_us = arrived_us


_RouteName = tuple[NodeId, int, SubscriptionId, int]
"""Which start of which peer asked, and a number in its stream to a subscription: the same events for good."""


class _OpenRoute:
    """Events on their way to other clusters, and the owner that waits to hear of them."""

    __slots__ = ("attempt", "names", "opened_tick", "owner", "parcel", "peer", "wants")

    def __init__(
        self, peer: Contact, attempt: int, parcel: ParcelId, owner: Process, wants: list[Want], opened_tick: int
    ) -> None:
        self.peer = peer
        self.attempt = attempt
        self.parcel = parcel
        self.owner = owner
        self.wants = wants
        self.opened_tick = opened_tick
        self.names = [_name_of(peer, owner, want) for want in wants]


def _name_of(peer: Contact, owner: Process, want: Want) -> _RouteName:
    # By the peer itself, not by the owner that it names: it might hold up the streams of another.
    return peer.id, owner.incarnation, want.subscription, want.number


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
        self._routes: dict[_RouteName, _OpenRoute] = {}
        """What is on its way to other clusters."""

    # Out

    def on_route(self, peer: Contact, route: Route) -> None:
        """Cast the events to the clusters of the subscriptions they are owed to, and report what became of them."""
        if not is_sound(route.parcel):
            self._step.record(Kind.DROP, peer=peer.id, reason=Reason.FOREIGN_EVENT, count=len(route.parcel.events))
            return
        late: list[OutcomeOf] = []
        targets, repeated = self._targets(peer, route, late)
        parcel, owner = route.parcel.id, route.owner
        if owner is not None and (late or repeated):
            self._step.send(peer, Routed(route.attempt, parcel, tuple(late), owner, (), tuple(repeated)))
        if not targets:
            return
        wants = [want for _, _, wants, _ in targets for want in wants]
        open_route = None if owner is None else _OpenRoute(peer, route.attempt, parcel, owner, wants, self._step.tick)
        if open_route is not None:
            self._routes |= dict.fromkeys(open_route.names, open_route)

        def report(summary: Summary, _: bool) -> None:
            assert isinstance(summary, EventSummary)
            for name in () if open_route is None else open_route.names:
                self._routes.pop(name, None)
            if summary.outcomes or summary.acks:
                self._step.send(peer, Routed(route.attempt, parcel, summary.outcomes, owner, summary.acks))

        whole = places_of(route.parcel)
        needed = union_of([from_bitmap(want.bitmap, whole) for want in wants]) or whole
        part = route.parcel if needed == whole else route.parcel.part(needed)
        payload = EventPayload(part, route.age_us, tuple(targets), route.missed, owner, route.is_repeated)
        self._casts.start(payload, report)

    def _targets(
        self, peer: Contact, route: Route, late: list[OutcomeOf]
    ) -> tuple[list[Target], list[tuple[SubscriptionId, int]]]:
        """Where the events go; and what is on its way there already, which is not sent again."""
        targets: list[Target] = []
        repeated: list[tuple[SubscriptionId, int]] = []
        for cluster, wants, bids in route.wants:
            entry = self._directory.get(cluster)
            fresh: list[Want] = []
            for want in wants:
                if route.owner is not None and _name_of(peer, route.owner, want) in self._routes:
                    repeated.append((want.subscription, want.number))
                else:
                    fresh.append(want)
            in_time = self._in_time(route.parcel, route.age_us, tuple(fresh), late) if bids else tuple(fresh)
            if entry is not None and in_time:
                targets.append((cluster, entry.prefix, in_time, bids))
        return targets, repeated

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
        parcel, whole = payload.parcel, places_of(payload.parcel)
        arriving = _Arriving(self._step.now)
        by_peer: dict[NodeId, list[Places]] = {}
        wants: list[Want] = []
        for cluster, _, some_wants, bids in payload.targets if is_sound(parcel) else ():
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
                deliver = delivery(
                    Shipment(parcel), payload.age_us, some, payload.missed, payload.owner, payload.is_repeated
                )
                if not is_promised(parcel):
                    self._step.send(contact, deliver)
                    continue
                unanswered: dict[SubscriptionId, int] = {}
                for id_, places, *_ in some:
                    unanswered[id_] = unanswered.get(id_, 0) | places
                followed = self._step.send_followed(contact, deliver)
                arriving.waiting[node] = _Unanswered(contact, deliver, unanswered, followed)
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
        """Tell owners what is still under way; repeat to peers that have not answered, and answer for the others."""
        for route in dict.fromkeys(self._routes.values()):
            if is_doubled(self._step.tick - route.opened_tick, _TELL_TICKS):
                under_way = tuple([(want.subscription, want.number) for want in route.wants])
                self._step.send(route.peer, Routed(route.attempt, route.parcel, (), route.owner, (), under_way))
        open_casts = [(parcel, cast, a) for parcel, by in self._arriving.items() for cast, a in by.items()]
        for parcel, cast, arriving in open_casts:
            for node, waiting in list(arriving.waiting.items()):
                if waiting.transmission.is_due(self._step.tick, _PATIENCE_TICKS, waiting.tries):
                    self._repeat(arriving, node)
            if not arriving.waiting:
                self._finish(parcel, cast)

    def _repeat(self, arriving: _Arriving, node: NodeId) -> None:
        waiting = arriving.waiting[node]
        if waiting.tries >= _TRIES_MAX:
            del arriving.waiting[node]
        else:
            deliver = waiting.deliver.aged(self._step.now - arriving.arrived_us)
            again = msgspec.structs.replace(deliver, is_repeated=True)
            waiting.transmission = self._step.send_followed(waiting.contact, again)
            waiting.tries += 1
