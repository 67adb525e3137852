"""One task that owns the core: hands it inputs, performs its effects. Takes no decisions."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import trio

from p2psub.model.effects import (
    CancelTimer,
    Connect,
    Deny,
    Disconnect,
    Effect,
    Input,
    Notify,
    NotifyGap,
    Persist,
    PublishReply,
    ReadPacks,
    Received,
    Reply,
    SetTimer,
    TimerFired,
    Transmit,
)
from p2psub.model.instants import Micros
from p2psub.model.records import Record
from p2psub.runtime.inbox import Inbox
from p2psub.runtime.links import LinkTable
from p2psub.runtime.pulse import Pulse

logger = logging.getLogger(__name__)

AFTER_FAULT_US = 500_000
"""A step that failed is followed by a tick this soon."""

_FIRED = TimerFired()


class DrivenCore(Protocol):
    """What is driven: a peer's NodeCore or the bootstrap's RegistryCore."""

    def step(self, inputs: list[Input], now: Micros) -> list[Effect]:
        """Advance by one batch of inputs."""
        ...


def steady_us() -> Micros:
    """The clock that every step is told: it never runs backwards, and its origin means nothing."""
    # Rounded, so that a task that slept until an instant finds it reached.
    return Micros(round(trio.current_time() * 1e6))


def wall_offset_us() -> int:
    """What to add to the steady clock to get the wall clock; for stamps only."""
    return time.time_ns() // 1000 - steady_us()


class _Batch(list[Input]):
    """Inputs of one step, and how many of them the core has begun with."""

    def __init__(self, inputs: Iterable[Input]) -> None:
        super().__init__(inputs)
        self.begun = 0

    def __iter__(self) -> Iterator[Input]:
        for input_ in super().__iter__():
            self.begun += 1
            yield input_


class Driver:
    """Steps a core whenever there is an input or its timer is due.

    A core that raises has met what we did not foresee: the links of all peers who spoke in that step are ended, and
    the node goes on with what was not reached.
    """

    def __init__(
        self,
        core: DrivenCore,
        inbox: Inbox,
        links: LinkTable,
        persist: Callable[[Persist], None],
        read: Callable[[ReadPacks], None],
        record: Callable[[Record], None],
        notify: Callable[[Notify | NotifyGap], None],
        reply: Callable[[Reply | PublishReply], None],
        deny: Callable[[Deny], None] | None = None,
        *,
        pulse: Pulse | None = None,
    ) -> None:
        self._core = core
        self._pulse = pulse or Pulse()
        self._inbox = inbox
        self._links = links
        self._timer_us: Micros | None = None
        self._until_due = trio.CancelScope()
        self._perform: dict[type, Callable[[Any], None]] = {
            Transmit: links.transmit,
            Connect: links.connect,
            Disconnect: links.disconnect,
            Deny: deny or self._deny,
            SetTimer: self._set_timer,
            CancelTimer: self._cancel_timer,
            Persist: persist,
            ReadPacks: read,
            Record: record,
            Notify: notify,
            NotifyGap: notify,
            Reply: reply,
            PublishReply: reply,
        }
        self.counters: Counter[str] = Counter()

    def _set_timer(self, effect: SetTimer) -> None:
        self._due_at(effect.at)

    def _cancel_timer(self, _: CancelTimer) -> None:
        self._due_at(None)

    def _due_at(self, timer_us: Micros | None) -> None:
        self._timer_us = timer_us
        self._until_due.deadline = math.inf if timer_us is None else timer_us / 1e6

    def _deny(self, effect: Deny) -> None:
        self._links.deny(frozenset(effect.denials.ids))

    async def run(self) -> None:
        """Drive the core until cancelled."""
        self._step([])
        self._pulse.beat(is_tick=False)
        while True:
            # One scope for all steps until the timer is due: a deadline that is moved is cheaper than a scope for each.
            with self._until_due:
                while True:
                    await self._inbox.wait_any()
                    self._step_on()
            self._until_due = trio.CancelScope()
            self._due_at(self._timer_us)
            self._step_on()

    def _step_on(self) -> None:
        """Step with what has come and what is due, if there is anything."""
        inputs = self._inbox.take()
        is_tick = self._timer_us is not None and steady_us() >= self._timer_us
        if is_tick:
            self._due_at(None)
            inputs.append(_FIRED)
        if inputs:
            self._step(inputs)
            self._pulse.beat(is_tick=is_tick)

    def _step(self, inputs: list[Input]) -> None:
        """One step; if the core stumbles, another with what it has not come to."""
        left = self._try(_Batch(inputs))
        while left:
            left = self._try(_Batch(left))

    def _try(self, batch: _Batch) -> list[Input]:
        self.counters["steps"] += 1
        try:
            effects = self._core.step(batch, steady_us())
        except Exception:  # noqa: BLE001  the boundary: whatever a peer made of our core ends that peer's link alone
            return self._blame(batch)
        for effect in effects:
            self._perform[type(effect)](effect)
        return []

    def _blame(self, batch: _Batch) -> list[Input]:
        """End the links of the peers that took part in a step that failed; what the others still have to say."""
        self.counters["core_faults"] += 1
        reached = max(1, batch.begun)
        peers = {input_.peer.id for input_ in batch[:reached] if isinstance(input_, Received)}
        logger.exception("a step failed; the links of %d peers that took part in it are ended", len(peers))
        # The step may have been about to set its timer.
        self._due_at(Micros(steady_us() + AFTER_FAULT_US))
        for peer in sorted(peers):
            self._links.disconnect(Disconnect(peer, "a step with its messages failed"))
        return [input_ for input_ in batch[reached:] if not (isinstance(input_, Received) and input_.peer.id in peers)]
