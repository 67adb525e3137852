"""How far a peer has come in joining, in words for the person who started it."""

from __future__ import annotations

from typing import Final, NamedTuple

from p2psub.model.status import LifeStage, NodeStatus, Role

PATIENCE_S: Final = 3.0
"""A healthy start has its first link by then, so silence before is not a reason for alarm."""


class JoinStage(NamedTuple):
    """Where the peer is, and what it waits for; it may be used when it waits for nothing.

    On its way into the ring the name is that of the node's `LifeStage`. In the ring the peer is `ready`, or `cut off`,
    `indexing` or `waiting`.
    """

    name: str
    missing: str | None


def stage_of(node: NodeStatus, links: int, uptime_s: float) -> JoinStage:
    """The stage of a peer whose node looks like this and that started so long ago."""
    if node.stage in {LifeStage.LEAVING, LifeStage.LEFT}:
        return JoinStage(node.stage, "the peer gives away what it holds")
    if node.cluster is None:
        return JoinStage(LifeStage.SEEKING, _sought(links, uptime_s))
    if node.super_node is None:
        return _without_super_node(node.role, uptime_s)
    if node.role is Role.JOINING:
        return JoinStage(LifeStage.JOINING, "entering the ring")
    if node.role is Role.SUPER_NODE and (node.prefix is None or node.filling):
        # By the facts, not by the node's stage: that follows them at the next tick only.
        name = LifeStage.FOUNDING if node.stage is LifeStage.FOUNDING else LifeStage.FILLING
        return JoinStage(name, "the cluster waits for its place in the cube")
    if node.hears_no_member:
        return JoinStage("cut off", "the super-node hears no other member: are they, or is the network, down?")
    if node.table is None:
        return JoinStage("indexing", "waiting for the super-node to grant a table")
    if not node.serves:
        return JoinStage("waiting", "the peer's lease has run out: the super-node has not renewed it")
    return JoinStage("ready", None)


def _without_super_node(role: Role, uptime_s: float) -> JoinStage:
    is_new = role is Role.JOINING
    if is_new and uptime_s < PATIENCE_S:
        return JoinStage(LifeStage.SEEKING, "looking for the super-node")
    return JoinStage(LifeStage.SEEKING if is_new else "waiting", "no super-node is heard: the members elect one")


def _sought(links: int, uptime_s: float) -> str:
    if links:
        return "looking for a cluster to join"
    if uptime_s < PATIENCE_S:
        return "connecting to the overlay"
    return "neither the bootstrap nor a known peer answers: is one of them up, and reachable from here?"
