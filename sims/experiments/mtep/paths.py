"""The one way from a publisher to each edge broker (MTEP 1.3)."""

from __future__ import annotations

from collections.abc import Callable

from sims.experiments.mtep.mesh import PUBLISHERS_PER_BROKER, Mesh, MeshLink

Way = tuple[int, ...]
"""The numbers of the links from a broker down to an edge broker."""
Ways = tuple[tuple[Way, ...], ...]
"""For every publisher the way to each edge broker. Those of one publisher are a tree: no broker has an event twice."""


def shortest_ways(mesh: Mesh) -> Ways:
    """The paper's: the sum of the links' mean delays is the smallest."""
    return _for_publishers([_shortest_from(mesh, broker) for broker in range(mesh.layers[0])])


def climbing_ways(mesh: Mesh) -> Ways:
    """Another reading: a subscription climbs by each broker's fastest link, so that a broker has all by one link."""
    into = mesh.links_into()
    links = [min(choices, key=lambda link: link.mean_us_per_kb, default=None) for choices in into]

    def from_broker(source: int) -> tuple[Way, ...]:
        return tuple(
            way_to(mesh, edge, lambda broker: _from_source(into[broker], source) or links[broker])
            for edge in range(mesh.layers[-1])
        )

    return _for_publishers([from_broker(broker) for broker in range(mesh.layers[0])])


def way_to(mesh: Mesh, edge: int, link_into: Callable[[int], MeshLink | None]) -> Way:
    """The way down to an edge broker, where each broker has what comes by one link."""
    climbed: list[int] = []
    link = link_into(mesh.first_edge + edge)
    while link is not None:
        climbed.append(link.number)
        link = link_into(link.upper)
    return tuple(reversed(climbed))


def _from_source(choices: list[MeshLink], source: int) -> MeshLink | None:
    return next((link for link in choices if link.upper == source), None)


def _shortest_from(mesh: Mesh, source: int) -> tuple[Way, ...]:
    best: dict[int, tuple[int, Way]] = {source: (0, ())}
    # Links are numbered layer by layer, so all ways to a link's upper broker are known when it is met.
    for link in mesh.links:
        if link.upper in best:
            delay, way = best[link.upper]
            found = (delay + link.mean_us_per_kb, (*way, link.number))
            best[link.lower] = min(best.get(link.lower, found), found)
    return tuple(best[mesh.first_edge + edge][1] for edge in range(mesh.layers[-1]))


def _for_publishers(per_broker: list[tuple[Way, ...]]) -> Ways:
    return tuple(ways for ways in per_broker for _ in range(PUBLISHERS_PER_BROKER))
