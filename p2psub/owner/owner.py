"""The owner of an arc: files the subscriptions of its keys, takes publishes, acknowledges copies, pays what is owed.

An event is acknowledged when enough members hold it with everything it owes. From then on it is undischarged until
every matched subscription has an outcome, whichever member is its owner by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from p2psub.admission.permits import Permits
from p2psub.admission.policy import Policy
from p2psub.config import PubSubConfig
from p2psub.matching.linear import matches
from p2psub.model.content import DeclarationState, Event, Guarantee, Subscription, Timed
from p2psub.model.digests import owed_event_id
from p2psub.model.ids import ClusterId, Contact, EventId, NodeId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.cluster import StoreChange
from p2psub.model.messages.pubsub import (
    Acknowledge,
    CopyStored,
    Delivered,
    MatchResponse,
    NotOwner,
    Obligation,
    OwedEvent,
    OwedEventId,
    Publish,
    Routed,
    StoreCopy,
    StoredEvent,
)
from p2psub.model.outcomes import Outcome, PublishOutcome
from p2psub.model.places import Table
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.dispatch import Dispatch
from p2psub.owner.empty_shards import EmptyShards
from p2psub.owner.match_index import MatchIndex
from p2psub.owner.matchmaker import Gathering, Matchmaker
from p2psub.owner.owed_events import HeldEvent, OwedEvents
from p2psub.owner.parcel_sorter import ParcelSorter
from p2psub.owner.spool import Spool
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.trace_sampler import TraceSampler

_BACKOFF_MAX: Final = 5
_SPOOL_EVERY_TICKS: Final = 10


@dataclass(frozen=True, slots=True)
class OwnerStatus:
    """What an owner shows of itself."""

    undischarged: int
    kept: tuple[EventId, ...]
    """The events that it holds, each once."""


class Owner:
    """What this member does for the subscriptions and events of its arc, and holds for other owners."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        arc_lease: ArcLease,
        election: Election,
        holders: int,
        permits: Permits,
        policy: Policy,
        sealer: Sealer,
        sampler: TraceSampler,
        contact_of: Callable[[NodeId], Contact | None],
    ) -> None:
        self._step = step
        self._config = config
        self._arc_lease = arc_lease
        self._permits = permits
        self._sealer = sealer
        self._spool = Spool(step.me.id, step.incarnation, config.spool_bytes_max)
        self._dispatch = Dispatch(step, election, contact_of, self._spool)
        self.match_index = MatchIndex(step, config, arc_lease, election, policy)
        self.shards = EmptyShards(step, config, arc_lease, election, self.match_index)
        self.matchmaker = Matchmaker(step, config, arc_lease, election, self.match_index, self.shards)
        self.owed_events = OwedEvents(step, config, arc_lease, election, holders)
        self.parcels = ParcelSorter(
            step, config, arc_lease, election, permits, self.match_index, self.shards, self._dispatch, sampler
        )

    def recover(self, stored: Iterable[StoredEvent]) -> None:
        """Begin where our last incarnation ended: with what was durable."""
        self.owed_events.recover(stored)
        self.match_index.start()

    def status(self) -> OwnerStatus:
        held = self.owed_events.held
        return OwnerStatus(len(held), tuple(dict.fromkeys(owed_event.event for owed_event in held)))

    # Subscriptions

    def adopt(self, table: Table) -> bool:
        """Obey a newer table from now on; False if we do not hold the index of the arc it gives us."""
        if not self.match_index.adopt(table):
            return False
        self._arc_lease.adopt(table)
        self.shards.forget()
        return True

    def on_store_change(self, peer: Contact, asked: StoreChange) -> None:
        """File a subscription, owe it what is retained if it is new and wants that, then vote."""
        filed = self.match_index.store(peer, asked)
        if filed is not None:
            retained = self.replay(filed.record) if filed.is_new and filed.record.replay else 0
            self.match_index.confirm(peer, asked, retained)

    def replay(self, record: Subscription) -> int:
        """Owe a new subscription the retained events it matches (Hyper 3.1.1); returns how many."""
        if record.state is not DeclarationState.ACTIVE:
            return 0
        events = self.owed_events.recent.wanted(lambda event: matches(record.filter, event), self._step.now)
        owed = (Obligation(record.id, record.cluster),)
        for event, age in events:
            owed_event = OwedEvent(owed_event_id(event.id, owed), Timed(event, age), owed, 1, (), self._step.me)
            if not self.owed_events.is_known(owed_event.id):
                self.owed_events.replicate(self.hold(owed_event, Kind.COPY))
        return len(events)

    # Publish

    def on_publish(self, peer: Contact, publish: Publish) -> None:
        event = publish.timed.event
        refusal = self._refusal(peer, event)
        if refusal is not None:
            self._refuse(peer, event, refusal)
            return
        if not self._arc_lease.serves(event.key):
            owner = self._arc_lease.owner_of(event.key)
            hint = owner if owner is not None and owner.id != self._step.me.id else None
            self._step.send(peer, NotOwner(event.id, hint))
            return
        held = next(iter(self.owed_events.all_of_event(event.id)), None)
        outcome = self.owed_events.outcome_of(event.id)
        if outcome is not None:
            self._repeat(peer, event)
            self._step.send(peer, Acknowledge(outcome))
        elif held is not None:
            self._repeat(peer, event)
            held.is_asked = True
            self._acknowledge_if_copied(held, again=True)
        elif self.owed_events.is_too_old(publish.timed):
            self._refuse(peer, event, Reason.OLDER_THAN_TTL)
        elif event.id not in self.matchmaker:
            self._store_if_matched(self.matchmaker.gather(publish.timed, peer))

    def _refuse(self, peer: Contact, event: Event, reason: Reason) -> None:
        self._step.record(Kind.DROP, event=event.id, peer=peer.id, reason=reason)
        self._step.send(peer, Acknowledge(PublishOutcome(event.id, refused=reason)))

    def _refusal(self, peer: Contact, event: Event) -> Reason | None:
        """Why an event is not taken from a peer: it must be its own, and of a topic that it may publish.

        What its publisher did not sign no subscriber would take, so we do not promise it either.
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

    def on_match_response(self, peer: Contact, said: MatchResponse) -> None:
        self._store_if_matched(self.matchmaker.on_match_response(peer, said))

    def _store_if_matched(self, gathering: Gathering | None) -> None:
        """If all matches are in, store the event with what it owes."""
        if gathering is None:
            return
        event = gathering.timed.event
        age = Micros(gathering.timed.age_us + self._step.now - gathering.started_us)
        owed = tuple(gathering.matches)
        self._step.record(Kind.MATCH, event=event.id, matched=len(owed), guarantee=event.guarantee)
        vector = gathering.vector()
        owed_event = OwedEvent(
            owed_event_id(event.id, owed), Timed(event, age), owed, len(owed), vector, gathering.publisher
        )
        held = self.hold(owed_event, Kind.STORE)
        held.is_asked = True
        self.owed_events.replicate(held)

    # Copies

    def hold(self, owed_event: OwedEvent, kind: Kind) -> HeldEvent:
        """Hold an owed event; as soon as it is durable it counts as a copy."""
        held = self.owed_events.take(owed_event)
        self._step.when_durable(lambda: self._stored(held, kind))
        return held

    def _stored(self, held: HeldEvent, kind: Kind) -> None:
        self.owed_events.stored(held, kind)
        self._copied(held)

    def on_store_copy(self, peer: Contact, asked: StoreCopy) -> None:
        """Hold what another holder asks us to hold, and say so when it is durable."""
        fresh, held_now = self.owed_events.on_store_copy(peer, asked)
        for held in fresh:
            self._step.when_durable(partial(self._stored, held, Kind.COPY))
        if held_now:
            self._step.when_durable(partial(self._state_copies, peer, asked.cluster, held_now))

    def _state_copies(self, peer: Contact, cluster: ClusterId, ids: list[OwedEventId]) -> None:
        still = tuple(id_ for id_ in ids if id_ in self.owed_events.held)
        if still:
            self._step.send(peer, CopyStored(cluster, still, self._arc_lease.version))

    def on_copy_stored(self, peer: Contact, stored: CopyStored) -> None:
        for held in self.owed_events.on_copy_stored(peer, stored):
            self._copied(held)

    def _copied(self, held: HeldEvent) -> None:
        """One more durable copy."""
        if not self._arc_lease.is_mine(held.key):
            return
        self._acknowledge_if_copied(held)
        if not held.dispatches and self._has_copies(held):
            self._tend(held)

    def _has_copies(self, held: HeldEvent) -> bool:
        copies = self._arc_lease.required_copies(self._config.copies)
        return self._step.me.id in held.held_by and len(held.held_by) >= copies

    def _acknowledge_if_copied(self, held: HeldEvent, again: bool = False) -> None:
        if held.is_asked and (again or not held.is_acknowledged) and self._has_copies(held):
            held.is_acknowledged = True
            self.owed_events.record_store(held)
            self._step.send(held.owed_event.publisher, Acknowledge(held.outcome))

    # Paying what is owed

    def _pay(self, held: HeldEvent) -> None:
        self.owed_events.record_store(held)
        held.dispatches += 1
        patience = self._config.redeliver_ticks * min(held.dispatches, _BACKOFF_MAX)
        held.due_tick = self._step.tick + patience
        if not held.owed:
            self.owed_events.discharge(held)
            return
        timed = Timed(held.owed_event.timed.event, Micros(self._step.now - held.born_us))
        self._dispatch.send(timed, list(held.owed.values()), through_super_node=held.dispatches > 1)

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
                elif held.settle(id_):
                    self._step.record(Kind.OUTCOME, event=event, subscription=id_, outcome=outcome)
            if not held.owed and self._arc_lease.is_mine(held.key) and self._has_copies(held):
                self.owed_events.discharge(held)

    # Time

    def tick(self) -> None:
        """Repeat what was not answered, pay again what is still owed, give up what is older than its time."""
        self.match_index.tick()
        self.shards.tick()
        for gathering in self.matchmaker.tick():
            self._store_if_matched(self.matchmaker.ask_again(gathering))
        self.owed_events.tick()
        for held in [held for held in self.owed_events.held.values() if self._is_due(held)]:
            if self._arc_lease.is_mine(held.key) and self._has_copies(held):
                self._tend(held)
        if self._step.tick % _SPOOL_EVERY_TICKS == 0:
            mine = [held for held in self.owed_events.held.values() if self._arc_lease.is_mine(held.key)]
            for held, id_ in self._spool.overflow(mine):
                self._settle(held.owed_event.id.event, ((id_, Outcome.SPOOL_FULL),))

    def _is_due(self, held: HeldEvent) -> bool:
        return held.due_tick <= self._step.tick or not held.owed or self._is_overdue(held)

    def _is_overdue(self, held: HeldEvent) -> bool:
        return self._step.now - held.born_us > self._config.undelivered_ttl_us

    def _tend(self, held: HeldEvent) -> None:
        if self._is_overdue(held):
            outcomes = tuple((id_, Outcome.UNREACHABLE) for id_ in held.owed)
            self._settle(held.owed_event.id.event, outcomes)
        else:
            self._pay(held)
