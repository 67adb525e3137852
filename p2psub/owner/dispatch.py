"""How an owner gets events to subscribers: straight to the peers of its own cluster, to others by its super-node."""

from __future__ import annotations

from collections.abc import Callable

from p2psub.model.content import Guarantee, Timed
from p2psub.model.ids import ClusterId, Contact, NodeId, SubscriptionId
from p2psub.model.messages.pubsub import Deliver, Obligation, Route
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.spool import Spool


class Dispatch:
    """Sends what is owed; every delivery tells its subscriptions what they missed, too."""

    def __init__(
        self, step: Step, election: Election, contact_of: Callable[[NodeId], Contact | None], spool: Spool
    ) -> None:
        self._step = step
        self._election = election
        self._contact_of = contact_of
        self._spool = spool
        self._attempt = 0

    def send(self, timed: Timed, owed: list[Obligation], through_super_node: bool = False) -> None:
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
        """Have our super-node carry an event to subscribers that we do not reach."""
        if self._election.super_node is not None:
            self._attempt += 1
            missed = self._spool.missed_by(obligation.subscription for obligation in owed)
            self._step.send(self._election.super_node, Route(self._attempt, timed, tuple(owed), missed))
        elif timed.event.guarantee is Guarantee.AT_MOST_ONCE:
            self._step.record(Kind.DROP, event=timed.event.id, reason=Reason.NO_SUPER_NODE, count=len(owed))
