"""Mutants of what a core knows of the queue before a link."""

from __future__ import annotations

import pytest

from p2psub.model.transmission import Transmission
from tests.mutants.hostile import CUBE_IS_SLOW, RING_IS_SLOW
from tests.mutants.mutant import mutant


@mutant("S1", "bound:discharge", on=CUBE_IS_SLOW)
def repeats_what_waits(patch: pytest.MonkeyPatch) -> None:
    """Rule: what still waits for its link is not queued there again. Here patience runs out while it waits."""
    patch.setattr(Transmission, "wait", lambda self: None)


@mutant("S1", "bound:discharge", on=RING_IS_SLOW)
def forgets_queue_time(patch: pytest.MonkeyPatch) -> None:
    """Rule: patience counts from when a message left. Here it counts from when its core asked to send it."""

    def forgetful(self: Transmission, tick: int, link_ticks: int) -> None:
        self.is_waiting = False

    patch.setattr(Transmission, "leave", forgetful)
