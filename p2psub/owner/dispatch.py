"""How an owner gets events to subscribers: straight to the peers of its own cluster, to others by its super-node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from p2psub.model.batches import batches_of
from p2psub.model.content import Guarantee
from p2psub.model.ids import ClusterId, Contact, NodeId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Obligation, Route
from p2psub.model.parcels import bitmap_within, union_of
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.spool import Spool
from p2psub.parcels.shipment import Shipment, delivery

Debt = tuple[SubscriptionId, ClusterId, int]
"""A subscription, where it lives, and the places of the events that it is to get."""

_WANTS_MAX: Final = 1 << 12
"""Subscriptions of one peer that share a message."""


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

    def send(self, shipment: Shipment, age_us: Micros, debts: Iterable[Debt], through_super_node: bool = False) -> None:
        """Own cluster: one message to every peer (at first); others: one multicast by our super-node."""
        by_peer: dict[NodeId, tuple[Contact, list[tuple[SubscriptionId, int]]]] = {}
        afar: list[Debt] = []
        for debt in debts:
            subscription, cluster, places = debt
            contact = self._contact_in(cluster, subscription.node)
            if contact is None or through_super_node:
                afar.append(debt)
            else:
                by_peer.setdefault(contact.id, (contact, []))[1].append((subscription, places))
        for contact, wants in by_peer.values():
            for some in batches_of(wants, weight_of_want, _WANTS_MAX):
                missed = self._spool.missed_by(subscription for subscription, _ in some)
                self._step.send(contact, delivery(shipment, age_us, some, missed))
        if afar:
            self._route(shipment, age_us, afar)

    def _contact_in(self, cluster: ClusterId, node: NodeId) -> Contact | None:
        """A subscriber that we reach ourselves, because it is of our cluster."""
        return self._contact_of(node) if cluster == self._election.cluster else None

    def _route(self, shipment: Shipment, age_us: Micros, debts: list[Debt]) -> None:
        """Have our super-node carry events to subscribers that we do not reach."""
        if self._election.super_node is not None:
            self._attempt += 1
            needed = union_of(places for _, _, places in debts)
            owed = tuple([Obligation(id_, cluster, bitmap_within(places, needed)) for id_, cluster, places in debts])
            missed = self._spool.missed_by(subscription for subscription, _, _ in debts)
            route = Route(self._attempt, shipment.part(needed), age_us, owed, missed)
            self._step.send(self._election.super_node, route)
        elif shipment.parcel.guarantee is Guarantee.AT_MOST_ONCE:
            count = sum(places.bit_count() for _, _, places in debts)
            self._step.record(Kind.DROP, reason=Reason.NO_SUPER_NODE, count=count)


def weight_of_want(_: tuple[SubscriptionId, int]) -> int:
    """Bytes on a link of one subscription and the events of a parcel that it wants, or a few more."""
    return 96
