"""The super-node carries events between clusters: one multicast out, one message per subscribing peer in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from p2psub.casts.cast import Casts
from p2psub.model.content import DeclarationState, Guarantee
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, Contact, EventId, NodeId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.casts import EventPayload, EventSummary, Summary
from p2psub.model.messages.pubsub import Deliver, Delivered, Route, Routed
from p2psub.model.outcomes import Outcome
from p2psub.model.step import Step
from p2psub.overlay.directory import Directory
from p2psub.super_node.change_set import ChangeSet

_PATIENCE_TICKS: Final = 4
"""How long a cast waits for subscribing peers; the owner tries those that are late again. A guess: two heartbeats."""


@dataclass(slots=True)
class _Arriving:
    """An event being handed to the peers of our cluster."""

    waiting: dict[NodeId, tuple[Contact, Deliver]]
    outcomes: dict[SubscriptionId, Outcome]
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
        self._arriving: dict[EventId, dict[CastId, _Arriving]] = {}
        self._casts = casts

    # Out

    def on_route(self, peer: Contact, route: Route) -> None:
        """Cast the event to the clusters of the subscriptions it is owed to, and report what became of it."""
        by_cluster: dict[ClusterId, list[SubscriptionId]] = {}
        for obligation in route.owed:
            by_cluster.setdefault(obligation.cluster, []).append(obligation.subscription)
        targets: list[tuple[ClusterId, Prefix, tuple[SubscriptionId, ...]]] = []
        for cluster, subscriptions in by_cluster.items():
            entry = self._directory.get(cluster)
            if entry is not None:
                targets.append((cluster, entry.prefix, tuple(subscriptions)))
        event = route.timed.event.id

        def report(summary: Summary, _: bool) -> None:
            assert isinstance(summary, EventSummary)
            if summary.outcomes:
                self._step.send(peer, Routed(route.attempt, event, summary.outcomes))

        if targets:
            self._casts.start(EventPayload(route.timed, tuple(targets), route.missed), report)

    # In

    def take(self, cast: CastId, payload: EventPayload) -> None:
        """Our cluster's part: hand the event to its subscribers here."""
        event = payload.timed.event
        wanted = [s for cluster, _, subs in payload.targets if cluster == self._cluster for s in subs]
        arriving = _Arriving({}, {}, self._step.now, self._step.tick, self._step.tick)
        by_peer: dict[NodeId, list[SubscriptionId]] = {}
        for id_ in wanted:
            known = self._changes.current(id_)
            if known is not None and known.record.state is DeclarationState.ENDED:
                arriving.outcomes[id_] = Outcome.ENDED
            else:
                # Also one we never heard of: its number may have died with its super-node. Its peer knows best.
                by_peer.setdefault(id_.node, []).append(id_)
        for node, subscriptions in by_peer.items():
            contact = self._contact_of(node)
            if contact is not None:
                arriving.waiting[node] = (contact, Deliver(payload.timed, tuple(subscriptions), payload.missed))
        for contact, deliver in arriving.waiting.values():
            self._step.send(contact, deliver)
        if event.guarantee is Guarantee.AT_MOST_ONCE:
            arriving.waiting.clear()
        if arriving.waiting:
            self._arriving.setdefault(event.id, {})[cast] = arriving
        else:
            self._answer(cast, arriving)

    def on_delivered(self, peer: Contact, delivered: Delivered) -> None:
        for cast, arriving in list(self._arriving.get(delivered.event, {}).items()):
            arriving.outcomes.update([outcome for outcome in delivered.outcomes if outcome[0].node == peer.id])
            arriving.waiting.pop(peer.id, None)
            if not arriving.waiting:
                self._finish(delivered.event, cast)

    def _finish(self, event: EventId, cast: CastId) -> None:
        arriving = self._arriving[event].pop(cast)
        if not self._arriving[event]:
            del self._arriving[event]
        self._answer(cast, arriving)

    def _answer(self, cast: CastId, arriving: _Arriving) -> None:
        self._casts.answer_locally(cast, EventSummary(tuple(arriving.outcomes.items())))

    def tick(self) -> None:
        """Repeat to peers that have not answered; answer for those that have when patience ends."""
        open_casts = [(event, cast, arriving) for event, by in self._arriving.items() for cast, arriving in by.items()]
        for event, cast, arriving in open_casts:
            if self._step.tick - arriving.arrived_tick >= _PATIENCE_TICKS:
                self._finish(event, cast)
            elif self._step.tick - arriving.sent_tick >= 2:
                arriving.sent_tick = self._step.tick
                for contact, deliver in arriving.waiting.values():
                    self._step.send(contact, deliver.aged(self._step.now - arriving.arrived_us))
