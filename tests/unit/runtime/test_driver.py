"""The driver hands inputs to the core and performs its effects, in order; a core that stumbles does not stop it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from p2psub.model.effects import (
    CancelTimer,
    Connect,
    Disconnect,
    Effect,
    Input,
    LinkLost,
    Notify,
    NotifyGap,
    Persist,
    PublishReply,
    ReadPacks,
    Received,
    Reply,
    SetTimer,
    Stored,
    TimerFired,
    Transmit,
)
from p2psub.model.ids import SubscriptionId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.model.outcomes import PublishOutcome, SubscribeVerdict, VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record
from p2psub.runtime.driver import AFTER_FAULT_US, Driver, steady_us
from p2psub.runtime.inbox import Inbox
from p2psub.runtime.links import LinkTable
from p2psub.runtime.pulse import Pulse
from tests.runtime.memory import MemoryNetwork, self_at
from tests.unit.bench import at, event_of, node_at

SUBSCRIPTION = SubscriptionId(node_at(1), 1, 1)
STAMP = Stamp(1, 0)


class RecordingLinkTable(LinkTable):
    """Links that only note what they are asked for."""

    def __init__(self, inbox: Inbox, performed: list[Effect]) -> None:
        super().__init__(self_at(1), MemoryNetwork().transport(at(1)), inbox)
        self._performed = performed

    def connect(self, effect: Connect) -> None:
        self._performed.append(effect)

    def disconnect(self, effect: Disconnect) -> None:
        self._performed.append(effect)

    def transmit(self, effect: Transmit) -> None:
        self._performed.append(effect)


class Machine:
    """A driver whose core does what the test says; all effects end in one list."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.performed: list[Effect] = []
        self.steps: list[tuple[list[Input], Micros]] = []
        self.answers: list[list[Effect]] = []
        self.on_input: Callable[[Input], None] = lambda _: None
        note = self.performed.append
        self.links = RecordingLinkTable(self.inbox, self.performed)
        self.pulse = Pulse()
        self.driver = Driver(self, self.inbox, self.links, *[note] * 5, pulse=self.pulse)

    def step(self, inputs: list[Input], now: Micros) -> list[Effect]:
        """The core's step."""
        seen: list[Input] = []
        self.steps.append((seen, now))
        for input_ in inputs:
            seen.append(input_)
            self.on_input(input_)
        return self.answers.pop(0) if self.answers else []

    @property
    def inputs(self) -> list[list[Input]]:
        """What each step was handed."""
        return [inputs for inputs, _ in self.steps]


def heard(place: int, *, is_poison: bool = False) -> Received:
    """Something that a peer said."""
    return Received(at(place), [Pong() if is_poison else Ping()], STAMP)


def stumble_over_poison(input_: Input) -> None:
    """Be a core with a bug that peers can reach."""
    if isinstance(input_, Received) and input_.messages == [Pong()]:
        raise KeyError("a bug")


# Stepping


async def test_a_core_is_started_by_a_step_without_inputs(nursery: trio.Nursery) -> None:
    """And then stepped when there is an input, with all that wait, in their order."""
    machine = Machine()
    nursery.start_soon(machine.driver.run)
    await trio.testing.wait_all_tasks_blocked()
    machine.inbox.put_nowait(heard(2))
    machine.inbox.put_nowait(LinkLost(node_at(2)))
    await trio.testing.wait_all_tasks_blocked()
    machine.inbox.put_nowait(heard(3))
    await trio.testing.wait_all_tasks_blocked()
    assert machine.inputs == [[], [heard(2), LinkLost(node_at(2))], [heard(3)]]
    nursery.cancel_scope.cancel()


async def test_who_waits_for_the_node_hears_of_every_step(
    nursery: trio.Nursery, mock_clock: trio.testing.MockClock
) -> None:
    """Of ticks too, apart: what is costly is looked at by them."""
    machine, felt = Machine(), list[str]()

    async def feel(name: str, wait: Callable[[], Awaitable[None]]) -> None:
        while True:
            await wait()
            felt.append(name)

    nursery.start_soon(feel, "step", machine.pulse.wait_step)
    nursery.start_soon(feel, "tick", machine.pulse.wait_tick)
    await trio.testing.wait_all_tasks_blocked()
    machine.answers = [[], [SetTimer(Micros(steady_us() + 1_000_000))]]
    nursery.start_soon(machine.driver.run)
    await trio.testing.wait_all_tasks_blocked()
    assert felt == ["step"]
    machine.inbox.put_nowait(heard(2))
    await trio.testing.wait_all_tasks_blocked()
    assert felt == ["step", "step"]
    mock_clock.jump(1)
    await trio.testing.wait_all_tasks_blocked()
    assert sorted(felt) == ["step", "step", "step", "tick"]
    nursery.cancel_scope.cancel()


async def test_effects_are_performed_in_order(nursery: trio.Nursery) -> None:
    """Of every kind, before the next step."""
    machine = Machine()
    effects: list[Effect] = [
        Record(Kind.START, node_at(1), 1, 1, STAMP),
        Connect(at(2)),
        Persist(1, []),
        ReadPacks(1, [1]),
        Transmit(node_at(2), [Ping()], STAMP),
        Notify(SUBSCRIPTION, [event_of("t")], [Micros(0)]),
        NotifyGap(SUBSCRIPTION, 3, Reason.CHANNEL_FULL),
        Reply(1, SubscribeVerdict(SUBSCRIPTION, VerdictStatus.STABLE)),
        PublishReply([(2, PublishOutcome(event_of("t").id, 3, 0))]),
        Disconnect(node_at(2), "enough"),
    ]
    machine.answers = [effects]
    nursery.start_soon(machine.driver.run)
    await trio.testing.wait_all_tasks_blocked()
    assert machine.performed == effects
    nursery.cancel_scope.cancel()


# Time


async def test_the_timer_fires_at_its_instant(nursery: trio.Nursery, autojump_clock: trio.testing.MockClock) -> None:
    """Once, and not again before it is set again."""
    machine = Machine()
    machine.answers = [[SetTimer(Micros(500_000))], [SetTimer(Micros(750_000))]]
    nursery.start_soon(machine.driver.run)
    await trio.sleep(10)
    assert machine.steps == [([], 0), ([TimerFired()], 500_000), ([TimerFired()], 750_000)]
    nursery.cancel_scope.cancel()


async def test_the_timer_set_last_counts(nursery: trio.Nursery, autojump_clock: trio.testing.MockClock) -> None:
    """And a timer that was cancelled does not fire."""
    machine = Machine()
    machine.answers = [[SetTimer(Micros(500_000)), SetTimer(Micros(2_000_000))], [CancelTimer()]]
    nursery.start_soon(machine.driver.run)
    await trio.sleep(1)
    machine.inbox.put_nowait(Stored(1))
    await trio.sleep(9)
    assert machine.steps == [([], 0), ([Stored(1)], 1_000_000)]
    nursery.cancel_scope.cancel()


async def test_a_timer_that_is_due_fires_with_the_inputs(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Also a busy node ticks."""
    machine = Machine()
    machine.answers = [[SetTimer(Micros(1))], [SetTimer(Micros(0))]]
    nursery.start_soon(machine.driver.run)
    await trio.sleep(1)
    machine.inbox.put_nowait(Stored(1))
    await trio.sleep(1)
    assert machine.inputs == [[], [TimerFired()], [TimerFired()], [Stored(1)]]
    nursery.cancel_scope.cancel()


async def test_no_instant_is_missed_by_rounding(nursery: trio.Nursery, autojump_clock: trio.testing.MockClock) -> None:
    """Whoever sleeps until a microsecond finds it reached: one step per timer, at its very instant."""
    machine = Machine()
    instants = [Micros(1_000_003 * n + n * n) for n in range(1, 400)]
    machine.answers = [[SetTimer(instant)] for instant in instants]
    nursery.start_soon(machine.driver.run)
    await trio.sleep(1000)
    assert [now for _, now in machine.steps[1:]] == instants
    nursery.cancel_scope.cancel()


async def test_the_steady_clock_counts_microseconds(mock_clock: trio.testing.MockClock) -> None:
    """It is trio's own, so that virtual time moves the core too."""
    mock_clock.jump(12.5)
    assert steady_us() == 12_500_000


# Stumbling


async def test_a_stumbling_core_ends_the_links_of_those_who_spoke(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    """Of those whose words were in that step: one of them made it stumble. It is logged, and the node goes on."""
    machine = Machine()
    machine.on_input = stumble_over_poison
    nursery.start_soon(machine.driver.run)
    await trio.testing.wait_all_tasks_blocked()
    for input_ in (heard(2), LinkLost(node_at(9)), heard(3, is_poison=True), heard(4)):
        machine.inbox.put_nowait(input_)
    with caplog.at_level(logging.ERROR):
        await trio.testing.wait_all_tasks_blocked()
    assert [effect.peer for effect in machine.performed if isinstance(effect, Disconnect)] == [node_at(2), node_at(3)]
    assert "a bug" in caplog.text
    assert machine.driver.counters["core_faults"] == 1
    machine.inbox.put_nowait(heard(5))
    await trio.testing.wait_all_tasks_blocked()
    assert machine.inputs[-1] == [heard(5)]
    nursery.cancel_scope.cancel()


async def test_what_a_stumbling_core_did_not_reach_is_not_lost(nursery: trio.Nursery) -> None:
    """The words of others, our own commands and the fate of links follow in another step; the culprit's do not."""
    machine = Machine()
    machine.on_input = stumble_over_poison
    nursery.start_soon(machine.driver.run)
    await trio.testing.wait_all_tasks_blocked()
    for input_ in (heard(2, is_poison=True), heard(2), Stored(1), heard(3, is_poison=True), LinkLost(node_at(2))):
        machine.inbox.put_nowait(input_)
    await trio.testing.wait_all_tasks_blocked()
    assert machine.inputs[1:] == [
        [heard(2, is_poison=True)],
        [Stored(1), heard(3, is_poison=True)],
        [LinkLost(node_at(2))],
    ]
    nursery.cancel_scope.cancel()


async def test_a_core_that_always_stumbles_does_not_spin(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Not even one that fails before it looks at its inputs: each of them is tried once, then time passes."""
    machine = Machine()

    def step(inputs: list[Input], now: Micros) -> list[Effect]:
        machine.steps.append((inputs[:], now))
        raise KeyError("a bug")

    machine.driver = Driver(_Core(step), machine.inbox, machine.links, *[machine.performed.append] * 5)
    machine.inbox.put_nowait(Stored(1))
    machine.inbox.put_nowait(Stored(2))
    nursery.start_soon(machine.driver.run)
    await trio.sleep(AFTER_FAULT_US / 1e6 * 3.5)
    assert machine.inputs == [[], [Stored(1), Stored(2)], [Stored(2)]] + [[TimerFired()]] * 3
    nursery.cancel_scope.cancel()


class _Core:
    """A core that is one function."""

    def __init__(self, step: Callable[[list[Input], Micros], list[Effect]]) -> None:
        self.step = step
