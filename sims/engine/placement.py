"""Which machine is where: names, ids and clusters of the simulated machines, and the links between them."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Final

from p2psub.model.ids import ClusterId, Contact, NodeId, digest_of
from sims.engine.host import Host
from sims.engine.network import LinkShape


def contact_for(seed: int, name: str) -> Contact:
    """A machine's contact; its id is as good as random, and the same in every run of the seed."""
    return Contact(NodeId(digest_of(b"sim", str(seed).encode(), name.encode())), name)


def cluster_named(number: int) -> ClusterId:
    """Name of the n-th cluster of a scenario."""
    return ClusterId(f"c{number:03d}")


Pair = frozenset[ClusterId | None]
"""Two clusters."""

_SLOW_DOWN: Final = 4
"""So many times slower is a link of a slow pair."""


def slow_pairs(seed: int, clusters: int, share: float) -> frozenset[Pair]:
    """This part of all pairs of clusters, as the seed draws them."""
    pairs = [*combinations([cluster_named(number) for number in range(clusters)], 2)]
    return frozenset(map(frozenset, Random(f"{seed}/slow").sample(pairs, round(share * len(pairs)))))


class LinkShapes:
    """Latencies that stay what they are for a pair: 1-5 ms inside a cluster, 10-60 ms between clusters.

    `bandwidth` is that of every link, unless `cube_bandwidth` is given for those between clusters. Between `slow`
    clusters it is a quarter of that.
    """

    def __init__(
        self,
        seed: int,
        bandwidth: int | None = None,
        cube_bandwidth: int | None = None,
        slow: frozenset[Pair] = frozenset(),
    ) -> None:
        self._seed = seed
        self._slow = slow
        self._bandwidth = bandwidth
        self._cube_bandwidth = bandwidth if cube_bandwidth is None else cube_bandwidth
        self._shapes: dict[tuple[int, int], LinkShape] = {}

    def between(self, one: Host, other: Host) -> LinkShape:
        """The link of two machines, whichever dials."""
        pair = (one.index, other.index) if one.index < other.index else (other.index, one.index)
        shape = self._shapes.get(pair)
        if shape is None:
            near = one.cluster is not None and one.cluster == other.cluster
            bandwidth = self._bandwidth if near else self._cube_bandwidth
            if bandwidth is not None and frozenset((one.cluster, other.cluster)) in self._slow:
                bandwidth //= _SLOW_DOWN
            shape = self._shapes[pair] = self._draw(pair, bandwidth, near=near)
        return shape

    def _draw(self, pair: tuple[int, int], bandwidth: int | None, *, near: bool) -> LinkShape:
        rng = Random(f"{self._seed}/link/{pair[0]}/{pair[1]}")
        latency_ms, jitter_ms = (
            (rng.randint(1, 5), rng.randint(0, 2)) if near else (rng.randint(10, 60), rng.randint(0, 10))
        )
        # Some pairs lose twice what the weather says and some nothing, one as often as the other.
        loss_factor = rng.choice((0.0, 0.5, 1.0, 1.0, 1.5, 2.0))
        return LinkShape(latency_ms, jitter_ms, bandwidth, loss_factor)
