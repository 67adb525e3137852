"""What is published and wanted in `p2psub bench earning`: drawn as in MTEP 3.2, in a tenth of its time.

An event has four attributes, a subscription one `<` on each of them: it wants a sixteenth of the events. Its bid is one
of the paper's five, with a tenth of the deadline: 2 s for a price of 3, to 6 s for 1. Everything follows from the seed.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import msgspec
import numpy as np

from p2psub.model.bids import Bid
from sims.experiments.mtep.workload import ATTRIBUTES, BIDS, drawn_values, satisfied_by

TOPIC: Final = "market"
_NAMES: Final = tuple(f"a{number}" for number in range(ATTRIBUTES))
_FASTER: Final = 10
"""The paper's links take seconds for an event, ours tenths of one."""


class WantedPart(NamedTuple):
    """A subscription to be: its filter and its bid."""

    filter: str
    bid: Bid


class PlannedEvent(NamedTuple):
    """An event to be: when it is published, counted from the first instant, and what it says."""

    at_s: float
    attributes: dict[str, float]


class BidLoad(msgspec.Struct, frozen=True, dict=True):
    """Small enough for an order; who has it can draw what it stands for."""

    seed: int
    rate_per_s: float
    seconds: float
    subscriptions: int
    body_bytes: int

    @cached_property
    def wanted(self) -> tuple[WantedPart, ...]:
        """The subscriptions, in the order of their numbers."""
        bids = [BIDS[int(number)] for number in self._rng(0).integers(len(BIDS), size=self.subscriptions)]
        return tuple(WantedPart(_filter(row), _faster(bid)) for row, bid in zip(self._bounds, bids, strict=True))

    @cached_property
    def events(self) -> tuple[PlannedEvent, ...]:
        """The events, in the order of their numbers: at random instants, so many a second on average."""
        instants = np.sort(self._rng(1).uniform(0.0, self.seconds, round(self.rate_per_s * self.seconds)))
        rows = self._values.tolist()
        return tuple(
            PlannedEvent(float(at_s), dict(zip(_NAMES, row, strict=True)))
            for at_s, row in zip(instants, rows, strict=True)
        )

    @cached_property
    def matched(self) -> frozenset[tuple[int, int]]:
        """Pairs of subscription and event, by their numbers."""
        events, subscriptions = np.nonzero(satisfied_by(self._values, self._bounds))
        return frozenset(zip(subscriptions.tolist(), events.tolist(), strict=True))

    @cached_property
    def _bounds(self) -> np.ndarray:
        return drawn_values(self._rng(2), self.subscriptions)

    @cached_property
    def _values(self) -> np.ndarray:
        return drawn_values(self._rng(3), round(self.rate_per_s * self.seconds))

    def _rng(self, part: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, part))


def _filter(bounds: np.ndarray) -> str:
    tests = [f"{name} < {bound!r}" for name, bound in zip(_NAMES, bounds.tolist(), strict=True)]
    return " AND ".join([f"topic = '{TOPIC}'", *tests])


def _faster(bid: Bid) -> Bid:
    return msgspec.structs.replace(bid, deadline_us=bid.deadline_us // _FASTER)
