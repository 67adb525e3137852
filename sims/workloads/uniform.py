"""Intervals on 4 of 20 numeric attributes, uniformly random: nothing to look up, and little to share."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from p2psub.model.content import Event, Filter, Operator, Predicate
from sims.workloads.matching import event_of

ATTRIBUTES: Final = [f"a{number:02}" for number in range(20)]
ASKED: Final = 4


class UniformWorkload:
    """Every subscription wants the given share of the events."""

    def __init__(self, seed: int, share: float = 0.001) -> None:
        self._random = Random(seed)
        self._width = share ** (1 / ASKED)

    def filters(self) -> Iterator[Filter]:
        """Without end."""
        random, width = self._random, self._width
        while True:
            conjunction: list[Predicate] = []
            for name in random.sample(ATTRIBUTES, ASKED):
                low = random.random() * (1 - width)
                conjunction.append(Predicate(name, Operator.GREATER_EQUAL, low))
                conjunction.append(Predicate(name, Operator.LESS_EQUAL, low + width))
            yield Filter((tuple(conjunction),))

    def events(self, count: int) -> Iterator[Event]:
        """Each with all attributes."""
        for number in range(count):
            yield event_of(number, {name: self._random.random() for name in ATTRIBUTES})
