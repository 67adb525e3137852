"""Which cluster a newcomer joins: near ones first, and those that need members before those that only have room."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from p2psub.config import ClusterConfig
from p2psub.model.ids import ClusterId, Contact, NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages.cube import DirectoryRequest
from p2psub.model.places import Entry
from p2psub.model.step import Step

_NEAR: Final = 2
"""A cluster is near if its round trip is at most this many times the best."""

_MEASURE_ASKS: Final = 8
"""Super-nodes that have not answered by then are not waited for. A guess."""


def choose_cluster(
    entries: Iterable[Entry], round_trips_us: dict[NodeId, Micros], config: ClusterConfig
) -> ClusterId | None:
    """The smallest near cluster below the minimum size, else the nearest below the target, else None: found one."""
    measured = [(round_trips_us[e.super_node.id], e) for e in entries if e.super_node.id in round_trips_us]
    best = min((span for span, _ in measured), default=0)
    needy = [e for span, e in measured if e.members < config.size_min and span <= _NEAR * best]
    if needy:
        return min(needy, key=lambda e: (e.members, e.cluster)).cluster
    roomy = [(span, e.cluster) for span, e in measured if e.members < config.size_target]
    return min(roomy)[1] if roomy else None


class RoundTrips:
    """Measures how far the super-nodes are, by asking each for the directory."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._asks = 0
        self._asked_us: dict[NodeId, Micros] = {}
        self.measured_us: dict[NodeId, Micros] = {}

    def beat(self, super_nodes: list[Contact]) -> bool:
        """Ask the super-nodes that have not answered; True once there is nothing more to wait for."""
        missing = [contact for contact in super_nodes if contact.id not in self.measured_us]
        self._asks += bool(super_nodes)
        for contact in missing:
            self._asked_us[contact.id] = self._step.now
            self._step.send(contact, DirectoryRequest())
        return bool(super_nodes) and (not missing or self._asks > _MEASURE_ASKS)

    def answered(self, peer: NodeId) -> None:
        """A super-node told the directory."""
        asked = self._asked_us.pop(peer, None)
        if asked is not None:
            self.measured_us[peer] = Micros(self._step.now - asked)
