"""Which peer is killed next: owner or holder of a topic, or a super-node, of a cluster that can do without it."""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import NamedTuple

from p2psub.api.settings import NODE
from p2psub.model.ids import key_of_topic


class VictimRole(enum.StrEnum):
    """For what a peer is killed. One that leads is killed for that alone."""

    OWNER = "owner"
    HOLDER = "holder"
    SUPER_NODE = "super_node"


class Victim(NamedTuple):
    """The peer to kill; owners and holders with the topic that they were drawn for."""

    name: str
    cluster: str
    role: VictimRole
    topic: str | None = None

    def __str__(self) -> str:
        role = self.role.replace("_", "-")
        return f"{self.name}, {role} of {self.topic or self.cluster}"


class RingMember(NamedTuple):
    """A member of a ring, by its place and its name."""

    id: bytes
    name: str


class RingView(NamedTuple):
    """A cluster as one of its members sees it."""

    cluster: str
    owners: tuple[RingMember, ...]
    """Members that hold keys."""
    super_node: str | None
    """Its name."""

    def holders_of(self, topic: str) -> list[str]:
        """The owner of a topic, then those that hold copies for it."""
        ring = sorted(self.owners)
        first = bisect_left([member.id for member in ring], key_of_topic(topic))
        count = min(1 + NODE.ring.successors, len(ring))
        return [ring[(first + step) % len(ring)].name for step in range(count)]


def draw_victim(
    turn: int, rings: Sequence[RingView], killable: Collection[str], topics: Sequence[str], rng: Random
) -> Victim | None:
    """A peer of the role whose turn it is; of another role if no such peer may be killed; None if none at all may."""
    roles = list(VictimRole)
    for step in range(len(roles)):
        fitting = [
            victim
            for ring in rings
            for victim in _fitting(roles[(turn + step) % len(roles)], ring, topics)
            if victim.name in killable
        ]
        if fitting:
            return rng.choice(fitting)
    return None


def _fitting(role: VictimRole, ring: RingView, topics: Sequence[str]) -> Iterator[Victim]:
    if role is VictimRole.SUPER_NODE:
        if ring.super_node is not None:
            yield Victim(ring.super_node, ring.cluster, role)
        return
    for topic in topics:
        owner, *others = ring.holders_of(topic)
        for name in [owner] if role is VictimRole.OWNER else others:
            if name != ring.super_node:
                yield Victim(name, ring.cluster, role, topic)
