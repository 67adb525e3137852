"""What the queue of a link costs for each message that leaves it, beside what looking at all of them would cost."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Final

from p2psub.bench.plan import QueuePlan
from p2psub.bench.queue_load import QueueLoad
from p2psub.bench.queue_report import QueueRate, QueueReport, queue_settings_of
from p2psub.bench.queue_scans import Chosen, StraightScan, VectorisedScan
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.stakes import BYTES_PER_KB, Waiting
from p2psub.queueing.link_queue import LinkQueue
from p2psub.queueing.sizes import MeanSize

BEGIN: Final = Micros(3600 * SECOND_US)
SCANNED_S: Final = 3.0
"""How long the scans may take for one result, about: of a long queue not every choice is scanned."""
SCAN_US_PER_STAKE: Final = 0.5
"""A guess at that."""


def bench_queue(plan: QueuePlan) -> QueueReport:
    """Every length with every number of subscriptions."""
    settings = queue_settings_of(plan)
    results = tuple(
        QueueBench(length, subscriptions, plan.seed).run(plan.pops)
        for length in plan.lengths
        for subscriptions in plan.subscriptions
    )
    return QueueReport(results=results, settings=settings)


class QueueBench:
    """One queue that stays as long as it is, and the two scans of the same messages. Times are CPU times."""

    def __init__(self, length: int, subscriptions: int, seed: int) -> None:
        self._length = length
        self._subscriptions = subscriptions
        self._load = QueueLoad(length, subscriptions, seed)
        self._now = BEGIN
        self._sizes = MeanSize()
        self._queue: LinkQueue[int] = LinkQueue("mtep", self._load.link)
        self._straight = StraightScan(self._load.link)
        self._vectorised = VectorisedScan(self._load.link, length, subscriptions)
        self._spent_ns = dict.fromkeys(("queue", "straight", "vectorised"), 0)
        self._scanned_ns = dict.fromkeys(("straight", "vectorised"), 0)

    def run(self, pops: int) -> QueueRate:
        """So many messages leave; a whole queue of them leaves before that, unmeasured."""
        for _ in range(self._length):
            self._fill()
            self._send_next()
        self._spent_ns = dict.fromkeys(self._spent_ns, 0)
        every = math.ceil(pops * self._length * self._subscriptions * SCAN_US_PER_STAKE / (SCANNED_S * SECOND_US))
        choices = [self._choose(is_scanned=pop % every == 0) for pop in range(pops)]
        scanned = [is_same for is_same in choices if is_same is not None]
        queue_us = self._spent_ns["queue"] / pops / 1000
        straight_us, vectorised_us = (
            (self._spent_ns[name] / pops + self._scanned_ns[name] / len(scanned)) / 1000
            for name in ("straight", "vectorised")
        )
        return QueueRate(
            length=self._length,
            subscriptions=self._subscriptions,
            straight_us=round(straight_us, 1),
            vectorised_us=round(vectorised_us, 1),
            queue_us=round(queue_us, 1),
            ratio=round(straight_us / queue_us, 2),
            same_choice=all(scanned),
            scanned=len(scanned),
        )

    def _choose(self, *, is_scanned: bool) -> bool | None:
        """A message leaves. Returns whether the scan found the same first and the same expired, if it was asked."""
        self._fill()
        if not is_scanned:
            self._send_next()
            return None
        postponed_us = self._sizes.mean_bytes / BYTES_PER_KB * self._load.link.mean_us_per_kb
        began_ns = time.process_time_ns()
        wanted = self._straight.choose(self._now, postponed_us)
        self._scanned_ns["straight"] += time.process_time_ns() - began_ns
        began_ns = time.process_time_ns()
        self._vectorised.choose(self._now, postponed_us)
        self._scanned_ns["vectorised"] += time.process_time_ns() - began_ns
        return self._send_next() == wanted

    def _fill(self) -> None:
        """As many come as have left."""
        for waiting in self._drawn():
            self._sizes.note(waiting.size_bytes)
            began_ns = time.process_time_ns()
            self._queue.push(waiting, self._now)
            queued_ns = time.process_time_ns()
            self._straight.push(waiting)
            straight_ns = time.process_time_ns()
            self._vectorised.push(waiting)
            self._spent_ns["queue"] += queued_ns - began_ns
            self._spent_ns["straight"] += straight_ns - queued_ns
            self._spent_ns["vectorised"] += time.process_time_ns() - straight_ns

    def _drawn(self) -> Iterator[Waiting[int]]:
        for _ in range(self._length - len(self._queue)):
            yield self._load.draw(self._now)

    def _send_next(self) -> Chosen:
        """What expired goes, then the next; the link is busy with it for a while."""
        began_ns = time.process_time_ns()
        unsent = self._queue.expire(self._now)
        waiting = self._queue.pop(self._now) if self._queue else None
        self._spent_ns["queue"] += time.process_time_ns() - began_ns
        for one in unsent:
            self._remove(one.waiting)
        if waiting is not None:
            self._remove(waiting)
        busy_us = SECOND_US if waiting is None else self._load.transfer_us(waiting.size_bytes)
        self._now = Micros(self._now + busy_us)
        return Chosen(None if waiting is None else waiting.item, {one.waiting.item for one in unsent})

    def _remove(self, waiting: Waiting[int]) -> None:
        self._straight.remove(waiting.item)
        self._vectorised.remove(waiting.item)
