"""How far a peer has come in joining, in words for the person who started it."""

from __future__ import annotations

from typing import NamedTuple

from p2psub.model.status import NodeStatus, Role


class JoinStage(NamedTuple):
    """Where the peer is, and what it waits for; it may be used when it waits for nothing."""

    name: str
    missing: str | None


def stage_of(node: NodeStatus, links: int) -> JoinStage:
    """The stage of a peer whose node looks like this."""
    if node.cluster is None:
        if not links:
            return JoinStage("seeking", "nobody of the overlay answers: is the bootstrap, or any known peer, up?")
        return JoinStage("choosing", "looking for a cluster to join")
    if node.super_node is None:
        return JoinStage("seeking", f"the cluster {node.cluster} has no super-node that we hear; one is being elected")
    if node.role is Role.JOINING:
        return JoinStage("joining", f"entering the ring of cluster {node.cluster}")
    if node.role is Role.SUPER_NODE and (node.prefix is None or node.filling):
        return JoinStage("founding", f"cluster {node.cluster} is waiting for its place in the cube")
    if node.hears_nobody:
        return JoinStage(
            "cut off", f"nobody else of cluster {node.cluster} is heard: are they, or is the network, down?"
        )
    if node.table is None:
        return JoinStage("indexing", "waiting for the super-node to grant a table")
    if not node.serves:
        return JoinStage("waiting", "our lease has run out: the super-node has not renewed it")
    return JoinStage("ready", None)
