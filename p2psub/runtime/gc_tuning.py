"""Python's cycle collector in a process that is a peer and nothing else."""

from __future__ import annotations

import gc

THRESHOLD = 50_000
"""Objects made before the collector looks; by default 700, which took up to half of a busy peer's time."""


def tune_gc() -> None:
    """What was loaded stays, and what a busy node makes is mostly gone by itself: look for cycles more rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(THRESHOLD, 20, 50)
