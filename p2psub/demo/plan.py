"""What a run is to show: every number that a person may choose."""

from __future__ import annotations

import math
from dataclasses import dataclass

from p2psub.demo.fleet import Seat
from p2psub.errors import ConfigError

_MEMBERS_MIN = 3
"""Of a cluster that loses a peer more than half must live on, else it acknowledges nothing for a while."""


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """One run. With one seed the content is the same; ids, and with them roles, are drawn anew by every overlay."""

    peers: int = 16
    clusters: int = 4
    publishers: int = 4
    """Peers that publish; some of them may subscribe too."""
    subscribers: int = 8
    """Peers that subscribe."""
    subscriptions: int = 24
    """Filters, dealt out to the subscribers."""
    events: int = 500
    rate_per_s: float = 25.0
    """Events published per second, whatever becomes of them."""
    member_kills: int = 1
    super_node_kills: int = 1
    """Peers that get SIGKILL while events are published; no two of one cluster."""
    seed: int = 1
    patience_s: float = 120.0
    """How long the overlay may take to form, an event to be acknowledged, the last one to arrive."""

    @property
    def kills(self) -> int:
        """Peers that do not live to the end."""
        return self.member_kills + self.super_node_kills

    @property
    def seats(self) -> list[Seat]:
        """All peers, dealt out to the clusters."""
        return [Seat(f"peer-{number:02d}", f"cluster-{number % self.clusters}") for number in range(self.peers)]

    def __post_init__(self) -> None:
        for name in ("clusters", "publishers", "subscribers", "events"):
            _check_least(self, name, 1)
        for name in ("member_kills", "super_node_kills"):
            _check_least(self, name, 0)
        if self.kills > self.clusters:
            raise ConfigError("kills", f"a cluster loses one peer at most: kill up to {self.clusters}, or have more")
        members_min = _MEMBERS_MIN if self.kills else 1
        if self.peers < self.clusters * members_min:
            advice = "so that more than half of them live on" if self.kills else "none may be empty"
            raise ConfigError("peers", f"have {members_min} or more per cluster, {advice}, or fewer clusters")
        survivors = self.peers - self.kills
        if max(self.publishers, self.subscribers) > survivors:
            raise ConfigError("peers", f"{survivors} live to the end; have no more publishers or subscribers than that")
        if self.subscriptions < self.subscribers:
            raise ConfigError("subscriptions", f"each of the {self.subscribers} subscribers needs one; have more")
        for name in ("rate_per_s", "patience_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(name, "use more than 0")


def _check_least(plan: DemoPlan, name: str, least: int) -> None:
    if getattr(plan, name) < least:
        raise ConfigError(name, f"use {least} or more")
