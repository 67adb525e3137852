"""Which events are traced whole.

What promises nothing need not be traced one by one: a sample shows its way, a count its volume. The sample is drawn
by the event's number, so every node on its way draws the same.
"""

from __future__ import annotations

from p2psub.model.content import Event, Guarantee
from p2psub.model.records import Kind
from p2psub.model.step import Step


class Sampling:
    """Decides for every happening whether it gets a record of its own; what does not is counted until the next tick."""

    def __init__(self, step: Step, every: int) -> None:
        self._step = step
        self._every = every
        self._untraced: dict[Kind, int] = {}

    def takes(self, event: Event) -> bool:
        """Whether an event is traced whole."""
        return event.guarantee is Guarantee.EFFECTIVELY_ONCE or event.id.sequence % self._every == 0

    def count(self, kind: Kind) -> None:
        """Note a happening of an event that is not."""
        self._untraced[kind] = self._untraced.get(kind, 0) + 1

    def tick(self) -> None:
        """Say how much was not traced."""
        if self._untraced:
            for kind, count in self._untraced.items():
                self._step.record(kind, reason="untraced", count=count)
            self._untraced.clear()
