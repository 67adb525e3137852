"""The owner of a topic: takes publishes, acknowledges copies, pays what is owed.

An event is acknowledged when enough members hold it with everything it owes. From then on it is undischarged until
every matched subscription has an outcome, whoever the owner is by then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from p2psub.admission.permits import Permits
from p2psub.config import PubSubConfig
from p2psub.matching.linear import matches
from p2psub.model.content import DeclarationState, Event, Guarantee, Subscription, Timed
from p2psub.model.digests import owed_event_id
from p2psub.model.ids import ClusterId, Contact, EventId, NodeId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import (
    Acknowledge,
    Deliver,
    Delivered,
    NotOwner,
    Obligation,
    OwedEvent,
    OwedEventId,
    Publish,
    Route,
    Routed,
)
from p2psub.model.outcomes import Outcome, PublishOutcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.matchmaker import Gathering, Matchmaker
from p2psub.owner.owed_events import HeldEvent, OwedEvents
from p2psub.owner.retention import Recent
from p2psub.owner.spool import Spool
from p2psub.parcels.sealer import Sealer

_BACKOFF_MAX: Final = 5
_SPOOL_EVERY_TICKS: Final = 10


class TopicOwner:
    """What this member does for the events of its arc."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        arc_lease: ArcLease,
        election: Election,
        permits: Permits,
        sealer: Sealer,
        contact_of: Callable[[NodeId], Contact | None],
    ) -> None:
        self._step = step
        self._config = config
        self._arc_lease = arc_lease
        self._election = election
        self._permits = permits
        self._sealer = sealer
        self._contact_of = contact_of
        self._attempt = 0
        self._finished: dict[OwedEventId, None] = {}
        self._outcomes: dict[EventId, PublishOutcome] = {}
        self._finished_order: deque[tuple[Micros, OwedEventId]] = deque()
        self._spool = Spool(step.me.id, step.incarnation, config.spool_bytes_max)
        self.recent = Recent(config.recent_events_max)
        self.owed_events: OwedEvents
        self.matchmaker: Matchmaker

    def is_finished(self, owed_event: OwedEventId) -> bool:
        """Whether an owed event owes nothing any more."""
        return owed_event in self._finished

    # Publish

    def on_publish(self, peer: Contact, publish: Publish) -> None:
        event = publish.timed.event
        key = event.key
        refusal = self._refusal(peer, event)
        if refusal is not None:
            self._step.record(Kind.DROP, event=event.id, peer=peer.id, reason=refusal)
            self._step.send(peer, Acknowledge(PublishOutcome(event.id, refused=refusal)))
            return
        if not self._arc_lease.serves(key):
            owner = self._arc_lease.owner_of(key)
            hint = owner if owner is not None and owner.id != self._step.me.id else None
            self._step.send(peer, NotOwner(event.id, hint))
            return
        held = next(iter(self.owed_events.all_of_event(event.id)), None)
        if event.id in self._outcomes:
            self._repeat(peer, event)
            self._step.send(peer, Acknowledge(self._outcomes[event.id]))
        elif held is not None:
            self._repeat(peer, event)
            held.is_asked = True
            self._acknowledge_if_copied(held, again=True)
        elif event.id not in self.matchmaker:
            self.matchmaker.gather(publish.timed, peer)

    def _refusal(self, peer: Contact, event: Event) -> Reason | None:
        """Why an event is not taken from a peer: it must be its own, and of a topic that it may publish.

        Nobody could deliver what its publisher did not sign, so we do not promise it either.
        """
        if event.id.node != peer.id:
            return Reason.FOREIGN_EVENT
        if event.guarantee is not Guarantee.EFFECTIVELY_ONCE:
            return Reason.NO_PROMISE
        if not self._permits.of(peer.id).may_publish(event.topic):
            return Reason.NOT_AUTHORIZED
        return None if self._sealer.is_genuine(event) else Reason.BAD_SIGNATURE

    def _repeat(self, peer: Contact, event: Event) -> None:
        self._step.record(Kind.DUPLICATE, event=event.id, peer=peer.id, reason=Reason.PUBLISH_REPEATED)

    def store(self, gathering: Gathering) -> None:
        """All matches are in: store the event with what it owes."""
        event = gathering.timed.event
        age = Micros(gathering.timed.age_us + self._step.now - gathering.started_us)
        owed = tuple(gathering.matches)
        self._step.record(Kind.MATCH, event=event.id, matched=len(owed), guarantee=event.guarantee)
        vector = gathering.vector()
        owed_event = OwedEvent(
            owed_event_id(event.id, owed), Timed(event, age), owed, len(owed), vector, gathering.publisher
        )
        held = self.owed_events.take(owed_event, Kind.STORE)
        held.is_asked = True
        self.owed_events.replicate(held)

    def copied(self, held: HeldEvent) -> None:
        """One more durable copy."""
        if not self._arc_lease.is_mine(held.key):
            return
        self._acknowledge_if_copied(held)
        if not held.dispatches and self._has_copies(held):
            self._pay(held)

    def _has_copies(self, held: HeldEvent) -> bool:
        copies = self._arc_lease.required_copies(self._config.copies)
        return self._step.me.id in held.held_by and len(held.held_by) >= copies

    def _acknowledge_if_copied(self, held: HeldEvent, again: bool = False) -> None:
        if held.is_asked and (again or not held.is_acknowledged) and self._has_copies(held):
            held.is_acknowledged = True
            self.owed_events.record_store(held)
            outcome = PublishOutcome(held.owed_event.timed.event.id, len(held.held_by), held.owed_event.matched)
            self._step.send(held.owed_event.publisher, Acknowledge(outcome))

    # Paying what is owed

    def _pay(self, held: HeldEvent) -> None:
        self.owed_events.record_store(held)
        held.dispatches += 1
        patience = self._config.redeliver_ticks * min(held.dispatches, _BACKOFF_MAX)
        held.due_tick = self._step.tick + patience
        if not held.owed:
            self.finish(held)
            return
        age = Micros(self._step.now - held.born_us)
        through_super_node = held.dispatches > 1
        self._dispatch(Timed(held.owed_event.timed.event, age), list(held.owed.values()), through_super_node)

    def _dispatch(self, timed: Timed, owed: list[Obligation], through_super_node: bool = False) -> None:
        """Own cluster: straight to the peers (at first); others: one multicast by our super-node."""
        by_peer: dict[NodeId, tuple[Contact, list[SubscriptionId]]] = {}
        routed: list[Obligation] = []
        for obligation in owed:
            contact = self.contact_in(obligation.cluster, obligation.subscription.node)
            if contact is None or through_super_node:
                routed.append(obligation)
            else:
                by_peer.setdefault(contact.id, (contact, []))[1].append(obligation.subscription)
        for contact, subscriptions in by_peer.values():
            missed = self._spool.missed_by(subscriptions)
            self._step.send(contact, Deliver(timed, tuple(subscriptions), missed))
        if routed:
            self.route(timed, routed)

    def contact_in(self, cluster: ClusterId, node: NodeId) -> Contact | None:
        """A subscriber that we reach ourselves, because it is of our cluster."""
        return self._contact_of(node) if cluster == self._election.cluster else None

    def route(self, timed: Timed, owed: list[Obligation]) -> None:
        """Have our super-node carry an event to those whom we do not reach."""
        if self._election.super_node is not None:
            self._attempt += 1
            missed = self._spool.missed_by(obligation.subscription for obligation in owed)
            self._step.send(self._election.super_node, Route(self._attempt, timed, tuple(owed), missed))
        elif timed.event.guarantee is Guarantee.AT_MOST_ONCE:
            self._step.record(Kind.DROP, event=timed.event.id, reason=Reason.NO_SUPER_NODE, count=len(owed))

    def on_delivered(self, peer: Contact, delivered: Delivered) -> None:
        """A peer speaks for its own subscriptions alone."""
        own = tuple(outcome for outcome in delivered.outcomes if outcome[0].node == peer.id)
        self._settle(delivered.event, own)

    def on_routed(self, _: Contact, routed: Routed) -> None:
        self._settle(routed.event, routed.outcomes)

    def _settle(self, event: EventId, outcomes: tuple[tuple[SubscriptionId, Outcome], ...]) -> None:
        for held in self.owed_events.all_of_event(event):
            for id_, outcome in outcomes:
                if outcome is Outcome.DEFERRED:
                    held.due_tick = min(held.due_tick, self._step.tick + self._config.retry_ticks)
                elif held.owed.pop(id_, None) is not None:
                    self._step.record(Kind.OUTCOME, event=event, subscription=id_, outcome=outcome)
            if not held.owed and self._arc_lease.is_mine(held.key) and self._has_copies(held):
                self.finish(held)

    def finish(self, held: HeldEvent) -> None:
        """It owes nothing any more: remember that, retain the event if its class asks for it, let the owed event go."""
        event = held.owed_event.timed.event
        outcome = PublishOutcome(event.id, len(held.held_by), held.owed_event.matched)
        self._step.record(Kind.DISCHARGE, event=event.id, matched=held.owed_event.matched)
        self._finished[held.owed_event.id] = None
        self._outcomes[event.id] = outcome
        until = Micros(self._step.now + self._config.undelivered_ttl_us + self._config.undelivered_ttl_margin_us)
        self._finished_order.append((until, held.owed_event.id))
        self.recent.retain(event, held.born_us, self._step.now)
        self.owed_events.discharge(held)

    # Replay

    def replay(self, record: Subscription) -> int:
        """Owe a new subscription the retained events it matches (Hyper 3.1.1); returns how many."""
        if record.state is not DeclarationState.ACTIVE:
            return 0
        events = self.recent.wanted(lambda event: matches(record.filter, event), self._step.now)
        owed = (Obligation(record.id, record.cluster),)
        for event, age in events:
            owed_event = OwedEvent(owed_event_id(event.id, owed), Timed(event, age), owed, 1, (), self._step.me)
            if not self.is_finished(owed_event.id) and owed_event.id not in self.owed_events.held:
                self.owed_events.replicate(self.owed_events.take(owed_event, Kind.COPY))
        return len(events)

    # Time

    def tick(self) -> None:
        """Pay again what is still owed; give up what is older than the horizon; forget old ids."""
        due = [held for held in self.owed_events.held.values() if held.due_tick <= self._step.tick or not held.owed]
        for held in due:
            if self._arc_lease.is_mine(held.key) and self._has_copies(held):
                self._tend(held)
        if self._step.tick % _SPOOL_EVERY_TICKS == 0:
            mine = [held for held in self.owed_events.held.values() if self._arc_lease.is_mine(held.key)]
            for held, id_ in self._spool.overflow(mine):
                self._settle(held.owed_event.id.event, ((id_, Outcome.SPOOL_FULL),))
        while self._finished_order and self._finished_order[0][0] <= self._step.now:
            _, forgotten = self._finished_order.popleft()
            self._finished.pop(forgotten, None)
            self._outcomes.pop(forgotten.event, None)

    def _tend(self, held: HeldEvent) -> None:
        if self._step.now - held.born_us > self._config.undelivered_ttl_us:
            outcomes = tuple((id_, Outcome.UNREACHABLE) for id_ in held.owed)
            self._settle(held.owed_event.id.event, outcomes)
        else:
            self._pay(held)
