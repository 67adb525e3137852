"""How an owner gets events to subscribers: straight to the peers of its own cluster, to others by its super-node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from p2psub.model.batches import batches_of
from p2psub.model.content import Guarantee
from p2psub.model.ids import ClusterId, Contact, NodeId, Process, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import ClusterWants, Route
from p2psub.model.place_sets import union_of
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.model.transmission import Transmission
from p2psub.model.ways import UNCUT_BYTES, PartBytes
from p2psub.overlay.election import Election
from p2psub.owner.spool import Spool
from p2psub.parcels.shipment import Places, Shipment, bids_of, delivery, want_of

Debt = tuple[ClusterId, Places]
"""What a subscription is to get, and where it lives."""

Followed = tuple[SubscriptionId, int, Transmission]
"""A subscription, the number of a delivery in its stream, and what became of the message that it went in."""

_WANTS_MAX: Final = 1 << 12
"""Subscriptions of one peer that share a message."""
_ROUTED_MAX: Final = 1 << 13
"""Subscriptions that share a multicast: what all their peers answer must fit into one message, too."""


class Dispatch:
    """Sends what is owed; every delivery tells its subscriptions what they missed, too."""

    def __init__(
        self,
        step: Step,
        election: Election,
        contact_of: Callable[[NodeId], Contact | None],
        spool: Spool,
        part_bytes: PartBytes,
    ) -> None:
        self._step = step
        self._election = election
        self._contact_of = contact_of
        self._spool = spool
        self._part_bytes = part_bytes
        self._attempt = 0

    def part_bytes(self, cluster: ClusterId, node: NodeId) -> int:
        """How much of what is owed to a subscriber may go in one message."""
        contact, super_node = self._contact_in(cluster, node), self._election.super_node
        if contact is not None:
            return self._part_bytes(contact.id, None)
        return UNCUT_BYTES if super_node is None else self._part_bytes(super_node.id, cluster)

    def send(
        self, shipment: Shipment, age_us: Micros, debts: Iterable[Debt], through_super_node: bool = False
    ) -> list[Followed]:
        """Own cluster: one message to every peer (at first); others: one multicast by our super-node.

        Returns what became of what is promised.
        """
        followed: list[Followed] = []
        by_peer: dict[NodeId, tuple[Contact, list[Places]]] = {}
        afar: list[Debt] = []
        is_promised = shipment.parcel.guarantee is Guarantee.EFFECTIVELY_ONCE
        owner = Process(self._step.me, self._step.incarnation) if is_promised else None
        for debt in debts:
            cluster, places = debt
            contact = self._contact_in(cluster, places[0].node)
            if contact is None or through_super_node:
                afar.append(debt)
            else:
                by_peer.setdefault(contact.id, (contact, []))[1].append(places)
        for contact, wants in by_peer.values():
            for some in batches_of(wants, weight_of_want, _WANTS_MAX):
                missed = self._spool.missed_by(want[0] for want in some)
                message = delivery(shipment, age_us, some, missed, owner)
                if owner is None:
                    self._step.send(contact, message)
                else:
                    transmission = self._step.send_followed(contact, message)
                    followed += [(want[0], want[2], transmission) for want in some]
        for first in range(0, len(afar), _ROUTED_MAX):
            some_afar = afar[first : first + _ROUTED_MAX]
            followed += self._route(shipment, age_us, some_afar, owner, is_repeated=through_super_node)
        return followed

    def _contact_in(self, cluster: ClusterId, node: NodeId) -> Contact | None:
        """A subscriber that we reach ourselves, because it is of our cluster."""
        return self._contact_of(node) if cluster == self._election.cluster else None

    def _route(
        self, shipment: Shipment, age_us: Micros, debts: list[Debt], owner: Process | None, *, is_repeated: bool
    ) -> list[Followed]:
        """Have our super-node carry events to subscribers that we do not reach."""
        if self._election.super_node is not None:
            self._attempt += 1
            needed = union_of(places[1] for _, places in debts)
            by_cluster: dict[ClusterId, list[Places]] = {}
            for cluster, places in debts:
                by_cluster.setdefault(cluster, []).append(places)
            timeout_us = shipment.parcel.timeout_us
            wants = tuple([_cluster_wants(cluster, some, needed, timeout_us) for cluster, some in by_cluster.items()])
            missed = self._spool.missed_by(places[0] for _, places in debts)
            route = Route(self._attempt, shipment.part(needed), age_us, wants, missed, owner, is_repeated)
            if owner is not None:
                transmission = self._step.send_followed(self._election.super_node, route)
                return [(places[0], places[2], transmission) for _, places in debts]
            self._step.send(self._election.super_node, route)
        elif shipment.parcel.guarantee is Guarantee.AT_MOST_ONCE:
            count = sum(places[1].bit_count() for _, places in debts)
            self._step.record(Kind.DROP, reason=Reason.NO_SUPER_NODE, count=count)
        return []


def _cluster_wants(cluster: ClusterId, some: list[Places], whole: int, timeout_us: int) -> ClusterWants:
    return cluster, tuple([want_of(want, whole) for want in some]), bids_of(some, timeout_us)


def weight_of_want(_: Places) -> int:
    """Bytes on a link of one subscription and the events of a parcel that it wants, or a few more."""
    return 112
