"""The failure budget of docs/promises.md: how much may break at once before a promise may be broken too."""

from __future__ import annotations

from typing import Final

from p2psub.model.ids import ClusterId

BUDGET_WINDOW_HEARTBEATS: Final = 6
"""A member that came back counts this much longer: the ring needs the time to repair."""
SUPER_NODE_PAUSE_HEARTBEATS: Final = 10
"""From one super-node's failure to the next in the same cluster."""
REUNION_HEARTBEATS: Final = 20
"""The members of a cluster that was cut are one ring again by then (`bound:ring_ideal`), and can make copies anew."""


class Budget:
    """Counts members down or just back, per cluster: at most min(r-1, ceil(m/2)-1) of m inside any six heartbeats.

    Of disks that were wiped, at most as many before the copies that were on them can have been made anew: across a cut
    no protocol can make them.
    """

    def __init__(self, heartbeat_us: int, successors: int) -> None:
        self._heartbeat_us = heartbeat_us
        self._successors = successors
        self._members: dict[ClusterId, set[int]] = {}
        self._down: dict[ClusterId, dict[int, int | None]] = {}
        self._wiped: dict[ClusterId, dict[int, int | None]] = {}
        self._cuts: dict[ClusterId, int] = {}
        self._reunited: dict[ClusterId, int] = {}
        self._left: dict[int, int] = {}
        self._super_node_failed: dict[ClusterId, int] = {}

    def enrol(self, cluster: ClusterId, member: int, joined: int = 0) -> None:
        """Count a member that joined then from now on, unless it has left since."""
        if joined >= self._left.get(member, 0):
            self._members.setdefault(cluster, set()).add(member)

    def allowance(self, cluster: ClusterId) -> int:
        """How many members may be down inside one window."""
        count = len(self._members.get(cluster, ()))
        return max(0, min(self._successors - 1, -(-count // 2) - 1))

    def spent(self, cluster: ClusterId, now: int) -> set[int]:
        """Members that are down, or were inside the window."""
        return {member for member, until in self._down.get(cluster, {}).items() if until is None or until > now}

    def wiped(self, cluster: ClusterId, now: int) -> set[int]:
        """Members that lost their disks, and to which the others may not have given copies yet."""
        wiped = self._wiped.get(cluster, {})
        if self._cuts.get(cluster, 0) or now < self._reunited.get(cluster, 0):
            return set(wiped)
        return {member for member, until in wiped.items() if until is None or until > now}

    def allows(self, cluster: ClusterId, members: list[int], now: int, *, super_node: bool, wipe: bool = False) -> bool:
        """Whether these members may fail now, all together; `super_node` if the acting one is among them."""
        if super_node and now < self._super_node_ready(cluster):
            return False
        if wipe and len(self.wiped(cluster, now) | set(members)) > self.allowance(cluster):
            return False
        return len(self.spent(cluster, now) | set(members)) <= self.allowance(cluster)

    def fail(self, cluster: ClusterId, member: int, now: int, *, super_node: bool, wipe: bool = False) -> None:
        """The member is down from now on."""
        self._down.setdefault(cluster, {})[member] = None
        if wipe or member in self.wiped(cluster, now):
            self._wiped.setdefault(cluster, {})[member] = None
        if super_node:
            self._super_node_failed[cluster] = now

    def dismiss(self, cluster: ClusterId, member: int, now: int) -> None:
        """The member has left gracefully: no other member counts on it until it joins again."""
        self._left[member] = now
        self._members.get(cluster, set()).discard(member)
        self._down.get(cluster, {}).pop(member, None)
        self._wiped.get(cluster, {}).pop(member, None)

    def back(self, cluster: ClusterId, member: int, now: int) -> None:
        """The member runs again; it counts for a window more."""
        until = now + BUDGET_WINDOW_HEARTBEATS * self._heartbeat_us
        self._down.setdefault(cluster, {})[member] = until
        if member in self._wiped.get(cluster, {}):
            self._wiped[cluster][member] = until

    def part(self, cluster: ClusterId, now: int) -> None:
        """Some members do not hear others from now on: what was not copied yet may not be until the cut has healed."""
        wiped = self._wiped.setdefault(cluster, {})
        for member in wiped.keys() - self.wiped(cluster, now):
            del wiped[member]
        self._cuts[cluster] = self._cuts.get(cluster, 0) + 1

    def reunite(self, cluster: ClusterId, now: int) -> None:
        """One of the cuts that parted the cluster has healed."""
        self._cuts[cluster] -= 1
        self._reunited[cluster] = now + REUNION_HEARTBEATS * self._heartbeat_us

    def _super_node_ready(self, cluster: ClusterId) -> int:
        failed = self._super_node_failed.get(cluster)
        return 0 if failed is None else failed + SUPER_NODE_PAUSE_HEARTBEATS * self._heartbeat_us
