"""One link of the egress: what waits for it in which lane, what leaves it, and what its queue and its receiver know."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from p2psub.model.ids import Contact
from p2psub.model.instants import Micros
from p2psub.model.messages import Lane, Message
from p2psub.model.stakes import LinkEstimate
from p2psub.model.transmission import Transmission
from p2psub.node.link_clocks import SPAN_US
from p2psub.node.pace import Pace
from p2psub.node.queued import Queued
from p2psub.queueing.link_queue import LinkQueue

_CONTROL_SHARE: Final = 2
"""Control has a window of its own beside that of content: what is urgent does not wait for a link full of events."""
_NOTICEABLE: Final = 0.1
"""An estimate that moved by less is not worth computing all priorities anew."""
_RECKONED_US: Final = 200
"""By so much for each message that waits are estimates told apart: with each all are computed anew. A guess."""
_LIGHT_BYTES: Final = 1000
"""So little is not held up by its own size, as far as its receiver can tell. A guess."""
SHOWN_US: Final = SPAN_US // 2
"""What its receiver was shown holds for a span at least; one may be held up or lost."""
UNKNOWN: Final = LinkEstimate(0.0, 0.0)
"""A link that was never full holds nothing up."""


@dataclass(slots=True)
class EgressLink:
    """The lanes of one link, and what is known of it."""

    contact: Contact
    content: LinkQueue[Queued]
    urgent: deque[Queued] = field(default_factory=deque)
    control: deque[Queued] = field(default_factory=deque)
    bulk: deque[Queued] = field(default_factory=deque)
    queued: int = 0
    queued_bytes: int = 0
    is_up: bool = False
    bulk_debt: float = 0.0
    pace: Pace = field(default_factory=lambda: Pace(0))
    told: LinkEstimate = UNKNOWN
    """What its queue goes by."""
    told_us: int = 0
    shown_us: int | None = None
    """When its receiver was last shown how long it takes what nothing holds up."""
    leaving: list[tuple[Transmission, Message]] = field(default_factory=list)
    """What filled the link: it counts as gone when the link has drained."""

    def limit(self, lane: Lane) -> float:
        """A message of this lane goes while less is under way."""
        if lane is Lane.LIVENESS:
            return math.inf
        return self.pace.window * _CONTROL_SHARE if lane is Lane.CONTROL else self.pace.window

    def tell_estimate(self, now: Micros) -> None:
        """Have its queue go by how fast it is now, if that moved, and not too often."""
        is_time = self.told == UNKNOWN or now - self.told_us >= _RECKONED_US * len(self.content)
        if is_time and _has_moved(self.told, self.pace.estimate):
            self.told, self.told_us = self.pace.estimate, now
            self.content.estimate(self.told)

    def must_show(self, spent: int, now: Micros, *, was_full: bool) -> bool:
        """Whether something light goes ahead of so much: by that its receiver tells how long this is on the link."""
        is_heavy = spent > _LIGHT_BYTES
        is_shown = self.shown_us is not None and now - self.shown_us < SHOWN_US
        if is_shown if is_heavy else was_full:
            return False
        self.shown_us = now
        return is_heavy


def _has_moved(before: LinkEstimate, after: LinkEstimate) -> bool:
    """Whether mean or deviation is another by more than a tenth of the mean."""
    mean_moved = abs(after.mean_us_per_kb - before.mean_us_per_kb)
    deviation_moved = abs(after.deviation_us_per_kb - before.deviation_us_per_kb)
    return max(mean_moved, deviation_moved) > _NOTICEABLE * after.mean_us_per_kb
