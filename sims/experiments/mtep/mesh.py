"""The mesh of MTEP 3.2: 128 brokers in six layers, joined by links whose speed is uncertain.

Every broker of layer 2 is joined to all of layer 1; every broker of the layers below to two of the layer above, drawn
at random. Events flow downwards, from the publishers at layer 1 to the subscribers at layer 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from numpy.random import Generator

LAYERS: Final = (4, 4, 8, 16, 32, 64)
PARENTS: Final = 2
PUBLISHERS_PER_BROKER: Final = 10
"""Of layer 1."""
UNIT_DELAY_US: Final = (40_000, 80_000)
"""Between these a link's mean time for one KB is drawn, once for the whole run."""
UNIT_DEVIATION_US: Final = 20_000


@dataclass(frozen=True, slots=True)
class MeshLink:
    """A link down from one broker to another; brokers are numbered layer by layer."""

    number: int
    upper: int
    lower: int
    mean_us_per_kb: int
    deviation_us_per_kb: int


@dataclass(frozen=True, slots=True)
class Mesh:
    """Brokers in layers, and the links between adjacent layers."""

    layers: tuple[int, ...]
    links: tuple[MeshLink, ...]

    @property
    def brokers(self) -> int:
        return sum(self.layers)

    @property
    def publishers(self) -> int:
        return self.layers[0] * PUBLISHERS_PER_BROKER

    @property
    def first_edge(self) -> int:
        """The first broker of the last layer: the subscribers' brokers are numbered from here on."""
        return self.brokers - self.layers[-1]

    def links_into(self) -> list[list[MeshLink]]:
        """For every broker its links from above."""
        into: list[list[MeshLink]] = [[] for _ in range(self.brokers)]
        for link in self.links:
            into[link.lower].append(link)
        return into


def drawn_mesh(rng: Generator, layers: tuple[int, ...] = LAYERS) -> Mesh:
    """A mesh as the paper draws it."""
    links: list[MeshLink] = []
    first_upper = 0
    for layer, (uppers, lowers) in enumerate(pairwise(layers)):
        first_lower = first_upper + uppers
        joined = uppers if layer == 0 else min(PARENTS, uppers)
        for lower in range(first_lower, first_lower + lowers):
            for upper in sorted(int(drawn) for drawn in rng.choice(uppers, joined, replace=False)):
                mean_us_per_kb = int(rng.integers(UNIT_DELAY_US[0], UNIT_DELAY_US[1], endpoint=True))
                links.append(MeshLink(len(links), first_upper + upper, lower, mean_us_per_kb, UNIT_DEVIATION_US))
        first_upper = first_lower
    return Mesh(layers, tuple(links))
