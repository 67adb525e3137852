"""Who does what in a run: some are going to be killed, publishers and subscribers are chosen among the others."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from p2psub.demo.plan import DemoPlan
from p2psub.errors import P2psubError
from p2psub.model.ids import ClusterId
from p2psub.model.status import Role


class NotEnoughPeers(P2psubError):
    """The overlay took another shape than the plan needs."""


class PeerStanding(NamedTuple):
    """Where a peer stands in the overlay."""

    cluster: ClusterId
    role: Role


class Parts(NamedTuple):
    """Names of peers; no doomed peer is among the others."""

    doomed: tuple[str, ...]
    """Super-nodes first."""
    publishers: tuple[str, ...]
    subscribers: tuple[str, ...]


def assign_parts(standings: Mapping[str, PeerStanding], plan: DemoPlan, rng: Random) -> Parts:
    """Draw the parts; every doomed peer is of another cluster."""
    clusters = sorted({standing.cluster for standing in standings.values()})
    rng.shuffle(clusters)
    roles = [True] * plan.super_node_kills + [False] * plan.member_kills
    if len(clusters) < len(roles):
        raise NotEnoughPeers(f"the overlay has {len(clusters)} clusters; kill no more than that, or start it again")
    doomed = [
        _draw(standings, cluster, is_super_node, rng) for cluster, is_super_node in zip(clusters, roles, strict=False)
    ]
    others = sorted(name for name in standings if name not in doomed)
    publishers, subscribers = rng.sample(others, plan.publishers), rng.sample(others, plan.subscribers)
    return Parts(tuple(doomed), tuple(publishers), tuple(subscribers))


def _draw(standings: Mapping[str, PeerStanding], cluster: ClusterId, is_super_node: bool, rng: Random) -> str:
    fitting = sorted(
        name
        for name, standing in standings.items()
        if standing.cluster == cluster and (standing.role is Role.SUPER_NODE) is is_super_node
    )
    if not fitting:
        kind = "super-node" if is_super_node else "member beside its super-node"
        raise NotEnoughPeers(f"cluster {cluster} has no {kind} to kill; start it again, or have more peers")
    return rng.choice(fitting)
