"""Rounds of kills, with a fleet on paper: who is killed when, and what becomes of a peer that stays away."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import trio
import trio.testing

from p2psub.api.pages import ContactPage, StatusPage
from p2psub.demo.controls import Controls, PeerSilent
from p2psub.demo.directories import RunDirectories
from p2psub.demo.fleet import Fleet
from p2psub.demo.process import FleetProcess, ProcessStatus
from p2psub.demo.stages import Stages, TooSlow
from p2psub.model.ids import ID_BYTES
from p2psub.model.status import Role
from p2psub.soak.books import SoakBooks
from p2psub.soak.memory_watch import MemoryWatch
from p2psub.soak.plan import MEMBERS, SPARED, SoakPlan
from p2psub.soak.rounds import CRASH_REST_S, RETURN_REST_S, SoakRounds
from tests.unit.demo.test_overview import page
from tests.unit.demo.test_stages import Notes

NAMES = [seat.name for seat in SoakPlan().seats]
IDS = {name: bytes([25 * number] * ID_BYTES).hex() for number, name in enumerate(NAMES)}
LEADERS = {cluster: f"{cluster}-{count - 1}" for cluster, count in MEMBERS.items()}


class PaperProcess(FleetProcess):
    """Says that it is ready some seconds after its start."""

    def __init__(self, name: str, joining_s: float) -> None:
        super().__init__(name, [], Path(), 0)
        self._joining_s = joining_s

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        await trio.sleep(self._joining_s)
        self._note(ProcessStatus("a", ready=True))


class PaperFleet(Fleet):
    """Notes who was killed and started when."""

    def __init__(self, joining_s: float = 2.0) -> None:
        super().__init__(RunDirectories(Path()), 0)
        self._joining_s = joining_s
        self.peers = {name: PaperProcess(name, joining_s) for name in NAMES}
        self.killed: list[tuple[str, float]] = []
        self.returned: dict[str, float] = {}

    async def kill(self, name: str) -> None:
        del self.peers[name]
        self.killed.append((name, trio.current_time()))

    def again(self, name: str) -> FleetProcess:
        self.peers[name] = PaperProcess(name, self._joining_s)
        self.returned[name] = trio.current_time() + self._joining_s
        return self.peers[name]


class PaperControls(Controls):
    """A member that sees all of its cluster, whoever is down."""

    def __init__(self, cluster: str) -> None:
        owners = tuple(IDS[name] for name in NAMES if name.startswith(cluster))
        self._page = page(cluster, Role.MEMBER)
        leader = ContactPage(IDS[LEADERS[cluster]], "")
        self._page = msgspec.structs.replace(
            self._page, ring=msgspec.structs.replace(self._page.ring, owners=owners, super_node=leader)
        )

    async def status(self) -> StatusPage:
        return self._page


def rounds_of(plan: SoakPlan, fleet: Fleet, notes: Notes, **others: Controls) -> SoakRounds:
    """The rounds of a plan; with other controls for some clusters."""
    controls = {f"{cluster}-0": others.get(cluster) or PaperControls(cluster) for cluster in MEMBERS}
    names = {id_: name for name, id_ in IDS.items()}
    return SoakRounds(plan, fleet, controls, names, SoakBooks((), {}), MemoryWatch(fleet), Stages(notes))


async def test_every_role_has_its_turn_and_nobody_is_killed_who_is_spared(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A round each, all of the time that it may take; all live at the end."""
    fleet, notes = PaperFleet(), Notes()
    rounds = rounds_of(SoakPlan(rounds=30), fleet, notes)
    async with trio.open_nursery() as processes:
        await rounds.run(processes)
    assert rounds.kills == {"owner": 10, "holder": 10, "super_node": 10}
    killed = [name for name, _ in fleet.killed]
    assert not set(killed) & set(SPARED)
    assert {name for name in killed if name in LEADERS.values()} == set(LEADERS.values())
    assert {name.partition("-")[0] for name in killed} == set(MEMBERS)
    assert set(fleet.peers) == set(NAMES)
    assert trio.current_time() == pytest.approx(30 * 15)
    assert sum(str(text).startswith("round ") for kind, text in notes.told if kind == "note") == 30


@pytest.mark.parametrize("joining_s", [1.0, 7.0, 40.0])
async def test_a_cluster_loses_no_second_peer_before_it_has_rested(
    autojump_clock: trio.testing.MockClock, joining_s: float
) -> None:
    """Neither soon after a crash nor soon after a return, however short rounds are: the budget of the promises."""
    last: dict[str, tuple[float, float]] = {}

    class Watching(PaperFleet):
        async def kill(self, name: str) -> None:
            await super().kill(name)
            cluster, now_s = name.partition("-")[0], trio.current_time()
            crashed_s, returned_s = last.get(cluster, (-100.0, -100.0))
            assert now_s >= crashed_s + CRASH_REST_S
            assert now_s >= returned_s + RETURN_REST_S

        def again(self, name: str) -> FleetProcess:
            process = super().again(name)
            last[name.partition("-")[0]] = (self.killed[-1][1], self.returned[name])
            return process

    fleet = Watching(joining_s)
    async with trio.open_nursery() as processes:
        await rounds_of(SoakPlan(rounds=20, seconds_per_round=5.0), fleet, Notes()).run(processes)
    assert len(fleet.killed) == 20


async def test_a_cluster_that_is_too_busy_to_say_how_it_is_loses_no_peer(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The other one does; and the run goes on."""

    class Busy(PaperControls):
        async def status(self) -> StatusPage:
            raise PeerSilent("ring-0 does not answer; see its log")

    fleet = PaperFleet()
    rounds = rounds_of(SoakPlan(rounds=6), fleet, Notes(), ring=Busy("ring"))
    async with trio.open_nursery() as processes:
        await rounds.run(processes)
    assert {name.partition("-")[0] for name, _ in fleet.killed} == {"second"}


async def test_a_peer_that_does_not_come_back_ends_the_run(autojump_clock: trio.testing.MockClock) -> None:
    """Its name is told, and how far it has come."""
    rounds = rounds_of(SoakPlan(rounds=1), PaperFleet(1e6), Notes())
    async with trio.open_nursery() as processes:
        with pytest.raises(TooSlow, match="does not come back: it is silent"):
            await rounds.run(processes)
        processes.cancel_scope.cancel()
