"""Flooding (Hyper 4): a node that hears for the first time sends to all its links but the one it heard from.

With E links between N nodes that makes 2E - (N - 1) messages, so (2E / (N - 1)) - 2 duplicates per node: the degree
less two. The 3.5 of Hyper's figure 6 belong to a mean degree of 5.5, which is therefore the default.
"""

from __future__ import annotations

from typing import Final

from sims.baselines.blind import Blind
from sims.baselines.links import Links

DEGREE: Final = 5.5


def flooding(links: Links) -> Blind:
    """Flooding over these links."""
    return Blind(links)
