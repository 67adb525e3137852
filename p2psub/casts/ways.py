"""How long events take from here to each cluster: figures that add up hop by hop along the walk of a cast.

A super-node knows its own links, and what its neighbours say of the ways beyond them. It tells neighbours and members
what has moved. Of links that were never full nothing is known, and nothing is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from p2psub.casts import spread
from p2psub.config import CubeConfig
from p2psub.model.graycode import Prefix, overlaps
from p2psub.model.ids import ClusterId, Contact, NodeId
from p2psub.model.messages.cube import WayNews
from p2psub.model.step import Step
from p2psub.model.ways import NO_WAY, WAYS_TOLD_MAX, Way
from p2psub.overlay.directory import Directory

_TOLD_ANEW_TICKS: Final = 40
"""What was told is told again after this time: it may have been lost. A guess."""

_Clusters = dict[NodeId, list[ClusterId]]
"""The next hop of a cast, and the clusters that it goes to from there."""


class Ways:
    """What this node knows of ways beyond its links."""

    def __init__(self, step: Step, config: CubeConfig, directory: Directory) -> None:
        self._step = step
        self._is_by_load = config.paths == "load"
        self._directory = directory
        self._learned: dict[NodeId, dict[ClusterId, Way]] = {}
        self._told: dict[NodeId, dict[ClusterId, Way]] = {}
        """What was told last is the last."""
        self._walk: tuple[object, _Clusters] = (None, {})
        """What it was computed from, and the walk."""

    def beyond(self, hop: NodeId, cluster: ClusterId) -> Way:
        """From a neighbour, or from our super-node, to the subscribers of a cluster."""
        return self._learned.get(hop, {}).get(cluster, NO_WAY)

    def on_way_news(self, peer: Contact, news: WayNews) -> None:
        """What another says of a cluster that we know."""
        learned = self._learned.setdefault(peer.id, {})
        for cluster, way in news.ways:
            if way == NO_WAY:
                learned.pop(cluster, None)
            elif self._directory.get(cluster) is not None:
                learned[cluster] = way

    def link_lost(self, peer: NodeId) -> None:
        """It may be another process when it comes again."""
        self._learned.pop(peer, None)
        self._told.pop(peer, None)

    # Telling

    def tell(self, own: Prefix, cluster: ClusterId, over: Callable[[NodeId], Way], members: Iterable[Contact]) -> None:
        """Tell neighbours and members what has moved; `over` are our own links, `own` is our place in the cube."""
        if self._step.tick % _TOLD_ANEW_TICKS == 0:
            # As if they had heard nothing; yet what is known no more by now is still taken back.
            self._told = {hearer: dict.fromkeys(told, NO_WAY) for hearer, told in self._told.items()}
        here = list(members)
        ways = self._ways(own, over)
        local = _mean([over(member.id) for member in here])
        if local != NO_WAY:
            ways[cluster] = local
        if ways or self._told:
            for hearer in (*self._directory.neighbours(own), *here):
                self._tell(hearer, ways)

    def _tell(self, hearer: Contact, ways: dict[ClusterId, Way]) -> None:
        told = self._told.setdefault(hearer.id, {})
        news = [(cluster, way) for cluster, way in ways.items() if way.has_moved(told.get(cluster, NO_WAY))]
        news += [(cluster, NO_WAY) for cluster in told if cluster not in ways]
        if len(news) > WAYS_TOLD_MAX:
            # First what was never told, then what was told longest ago: busy links move at every beat.
            place = {cluster: number for number, cluster in enumerate(told)}
            news = sorted(news, key=lambda one: place.get(one[0], -1))[:WAYS_TOLD_MAX]
        if news:
            self._step.send(hearer, WayNews(tuple(news)))
            for cluster, way in news:
                told.pop(cluster, None)
                if way != NO_WAY:
                    told[cluster] = way

    def _ways(self, own: Prefix, over: Callable[[NodeId], Way]) -> dict[ClusterId, Way]:
        """To every cluster to which anything is known to take time."""
        ways: dict[ClusterId, Way] = {}
        for hop, clusters in self._hops(own).items():
            link, learned = over(hop), self._learned.get(hop, {})
            for cluster in clusters if link != NO_WAY else learned.keys() & set(clusters):
                ways[cluster] = link.and_then(learned.get(cluster, NO_WAY))
        return self._quicker(ways, over) if self._is_by_load else ways

    def _quicker(self, walked: dict[ClusterId, Way], over: Callable[[NodeId], Way]) -> dict[ClusterId, Way]:
        """A multicast enters at the cluster itself where the walk takes longer."""
        ways: dict[ClusterId, Way] = {}
        for cluster, walk in walked.items():
            entry = self._directory.get(cluster)
            assert entry is not None, "the walk goes by the directory"
            node = entry.super_node.id
            way = min(walk, over(node).and_then(self.beyond(node, cluster)), key=_mean_of)
            if way != NO_WAY:
                ways[cluster] = way
        return ways

    def _hops(self, own: Prefix) -> _Clusters:
        basis = (own, self._directory.digest)
        if self._walk[0] != basis:
            by_prefix = self._directory.by_prefix()
            prefixes = tuple(by_prefix)
            hops: _Clusters = {}
            for entry in self._directory.present():
                for dimension, half in spread.halves(own, Prefix("")):
                    if overlaps(half, entry.prefix):
                        first = spread.neighbour(own, dimension, prefixes)
                        if first is not None:
                            hops.setdefault(by_prefix[first].id, []).append(entry.cluster)
                        break
            self._walk = (basis, hops)
        return self._walk[1]


def _mean_of(way: Way) -> int:
    return way.mean_us_per_kb


def _mean(ways: list[Way]) -> Way:
    """Of the links to our members; one of which nothing is known counts as none."""
    count = len(ways) or 1
    mean = sum([way.mean_us_per_kb for way in ways]) // count
    variance = sum([way.variance for way in ways]) // count
    return Way(mean, variance, sum([way.fixed_us for way in ways]) // count)
