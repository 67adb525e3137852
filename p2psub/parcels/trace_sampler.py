"""Which events are traced whole.

What promises nothing need not be traced one by one: a sample shows its way, a count its volume. The sample is drawn
by the event's number, so every node on its way draws the same.
"""

from __future__ import annotations

from p2psub.model.content import Event, Guarantee
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step


class TraceSampler:
    """Decides for every happening whether it gets a record of its own; what does not is counted until the next tick."""

    def __init__(self, step: Step, every: int) -> None:
        self._step = step
        self._every = every
        self._untraced: dict[Kind, int] = {}

    def sample(self, kind: Kind, events: list[Event]) -> list[int]:
        """The indexes of the events that are traced whole; the same happening of the others is counted."""
        every, promised = self._every, Guarantee.EFFECTIVELY_ONCE
        taken = [i for i, e in enumerate(events) if e.id.sequence % every == 0 or e.guarantee is promised]
        if len(taken) < len(events):
            self._untraced[kind] = self._untraced.get(kind, 0) + len(events) - len(taken)
        return taken

    def tick(self) -> None:
        """Say how much was not traced."""
        if self._untraced:
            for kind, count in self._untraced.items():
                self._step.record(kind, reason=Reason.UNTRACED, count=count)
            self._untraced.clear()
