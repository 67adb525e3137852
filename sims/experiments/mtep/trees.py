"""A publisher's way to all edge brokers as a tree that can be changed: each broker has what comes by one link."""

from __future__ import annotations

from typing import NamedTuple

from sims.experiments.mtep.mesh import Mesh, MeshLink
from sims.experiments.mtep.paths import Way, way_to


class Share(NamedTuple):
    """What a broker has of one publisher's events."""

    wanted: int = 0
    """Which of some sampled events a subscription below it wants, as bits."""
    pairs: float = 0.0
    """With how many subscriptions below it an event makes a pair, on average."""

    def joined(self, other: Share) -> Share:
        """That of both together: an event that both want is one."""
        return Share(self.wanted | other.wanted, self.pairs + other.pairs)


NOTHING = Share()


class WayTree:
    """The links by which brokers are fed, and the share of every broker, whether it has a part in it or not."""

    def __init__(self, mesh: Mesh, source: int, ways: tuple[Way, ...], edges: list[Share]) -> None:
        self._mesh = mesh
        self.fed_by = _links_of(mesh, source, ways)
        self.shares = [NOTHING] * mesh.first_edge + edges
        self._feeds: list[list[int]] = [[] for _ in range(mesh.brokers)]
        for broker in range(mesh.brokers - 1, -1, -1):
            link = self.fed_by[broker]
            if link is not None:
                self._feeds[link.upper].append(broker)
                self.shares[link.upper] = self.shares[link.upper].joined(self.shares[broker])

    def shares_if(self, broker: int, new: MeshLink) -> dict[int, Share]:
        """The shares of all brokers above this one, above its old link and its new one, if that fed it."""
        old = self.fed_by[broker]
        assert old is not None
        above: dict[int, Share] = {}
        # Brokers are numbered from the top, so those that others are fed by come after them.
        for upper in sorted({*self._upwards(old.upper), *self._upwards(new.upper)}, reverse=True):
            share = self.shares[broker] if upper == new.upper else NOTHING
            for fed in self._feeds[upper]:
                if fed != broker:
                    share = share.joined(above.get(fed, self.shares[fed]))
            above[upper] = share
        return above

    def feed(self, broker: int, new: MeshLink, above: dict[int, Share]) -> None:
        """Make the change of which `shares_if` told the shares."""
        old = self.fed_by[broker]
        assert old is not None
        self._feeds[old.upper].remove(broker)
        self._feeds[new.upper].append(broker)
        self.fed_by[broker] = new
        for upper, share in above.items():
            self.shares[upper] = share

    def ways(self) -> tuple[Way, ...]:
        """The way to every edge broker."""
        edges = range(self._mesh.layers[-1])
        return tuple(way_to(self._mesh, edge, self.fed_by.__getitem__) for edge in edges)

    def _upwards(self, broker: int) -> list[int]:
        found = [broker]
        while (link := self.fed_by[found[-1]]) is not None:
            found.append(link.upper)
        return found


def _links_of(mesh: Mesh, source: int, ways: tuple[Way, ...]) -> list[MeshLink | None]:
    """Of brokers without part in any way the fastest link, but in layer 2 always that from the source."""
    found: list[MeshLink | None] = []
    for links in mesh.links_into():
        from_source = [link for link in links if link.upper == source]
        found.append(min(from_source or links, key=lambda link: link.mean_us_per_kb, default=None))
    for way in ways:
        for number in way:
            found[mesh.links[number].lower] = mesh.links[number]
    return found
