"""The super-nodes that hold our halves: their silence matters, neighbours or not.

Neighbours send each other heartbeats. Another super-node is pinged when it is silent for long.
"""

from __future__ import annotations

from typing import Final

from p2psub.model.ids import Contact, NodeId
from p2psub.model.step import Step
from p2psub.overlay.liveness import Liveness

_WATCHED_TICKS: Final = 40
"""One that was asked in vain is watched for so long: while it is dead, multicasts go past it. A guess."""


class Custodians:
    """Whom a super-node has handed halves in one term."""

    def __init__(self, step: Step, liveness: Liveness) -> None:
        self._step = step
        self._liveness = liveness
        self._asked: dict[NodeId, tuple[Contact, int]] = {}
        """Who holds a half or was not heard since, and when a half of it was last open."""

    def watched(self) -> list[Contact]:
        """Those whose silence matters to our casts."""
        return [contact for contact, _ in self._asked.values()]

    def expect(self, contact: Contact) -> None:
        """A half of it is open."""
        self._asked[contact.id] = contact, self._step.tick

    def tick(self) -> None:
        """Forget those who hold nothing and are there, and after a while those who are not."""
        tick = self._step.tick
        for node, (_, at) in list(self._asked.items()):
            if at != tick and (self._liveness.hears(node) or tick - at > _WATCHED_TICKS):
                del self._asked[node]
