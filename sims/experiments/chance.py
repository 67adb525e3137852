"""Chance by seed and purpose: what one part of an experiment draws does not depend on what another part drew."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator


def rng_of(seed: int, purpose: str) -> Generator:
    """Its own chance for each purpose."""
    return np.random.default_rng([seed, *purpose.encode()])
