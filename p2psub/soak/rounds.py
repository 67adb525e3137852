"""The rounds of a soak: in each a peer is killed, stays away for some seconds, and is started again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Final, NamedTuple

import trio

from p2psub.api.settings import NODE
from p2psub.demo.controls import Controls, PeerSilent
from p2psub.demo.fleet import Fleet
from p2psub.demo.stages import Stages, patient
from p2psub.soak.books import SoakBooks
from p2psub.soak.memory_watch import MemoryWatch
from p2psub.soak.plan import MEMBERS, SPARED, TOPICS, SoakPlan
from p2psub.soak.victims import RingMember, RingView, Victim, VictimRole, draw_victim

_HEARTBEAT_S: Final = NODE.heartbeat_us / 1e6
CRASH_REST_S: Final = 10 * _HEARTBEAT_S
RETURN_REST_S: Final = 6 * _HEARTBEAT_S
"""After a crash, and after a return, a cluster loses no other peer for so long: the failure budget of the promises."""
AWAY_S_MIN: Final = 0.5
AWAY_PART_MAX: Final = 0.4
"""Of a round: from hardly noticed to given up for dead."""


class Round(NamedTuple):
    """What happened in a round."""

    number: int
    victim: Victim
    away_s: float
    back_s: float
    """From its start until it was ready again."""


class SoakRounds:
    """Kills and starts peers; `kills` counts them by role. `controls` are those of peers that are spared."""

    def __init__(
        self,
        plan: SoakPlan,
        fleet: Fleet,
        controls: Mapping[str, Controls],
        names: Mapping[str, str],
        books: SoakBooks,
        memory: MemoryWatch,
        stages: Stages,
    ) -> None:
        self._plan = plan
        self._fleet = fleet
        self._controls = controls
        self._names = names
        self._books = books
        self._memory = memory
        self._stages = stages
        self._rng = Random(plan.seed)
        self._rested_s = dict.fromkeys(MEMBERS, 0.0)
        """When each cluster may lose a peer again."""
        self.kills: Counter[VictimRole] = Counter()

    async def run(self, processes: trio.Nursery) -> None:
        """All rounds; peers run in `processes`."""
        with self._stages.stage("killing", self._plan.rounds):
            for number in range(1, self._plan.rounds + 1):
                began_s = trio.current_time()
                told = await self._round(number, processes)
                await trio.sleep_until(began_s + self._plan.seconds_per_round)
                self._tell(told)

    async def _round(self, number: int, processes: trio.Nursery) -> Round:
        victim = await self._choose(number - 1)
        killed_s = trio.current_time()
        await self._fleet.kill(victim.name)
        self.kills[victim.role] += 1
        away_s = self._rng.uniform(AWAY_S_MIN, AWAY_PART_MAX * self._plan.seconds_per_round)
        await trio.sleep_until(killed_s + away_s)
        started_s = trio.current_time()
        process = self._fleet.again(victim.name)
        await processes.start(process.run)
        with patient(self._plan.patience_s, lambda: f"{victim.name} does not come back: it is {process.state}"):
            await process.readied.wait()
        ready_s = trio.current_time()
        self._rested_s[victim.cluster] = max(killed_s + CRASH_REST_S, ready_s + RETURN_REST_S)
        return Round(number, victim, away_s, ready_s - started_s)

    async def _choose(self, turn: int) -> Victim:
        """A victim of a cluster that can do without it; waits until there is one."""
        killable = self._fleet.peers.keys() - set(SPARED)
        with patient(self._plan.patience_s, lambda: "there is no peer that may be killed"):
            while True:
                await trio.sleep_until(min(self._rested_s.values()))
                rings = [view for cluster in self._rested() if (view := await self._view(cluster)) is not None]
                victim = draw_victim(turn, rings, killable, TOPICS, self._rng)
                if victim is not None:
                    return victim
                await trio.sleep_until(trio.current_time() + _HEARTBEAT_S)

    def _rested(self) -> list[str]:
        return [cluster for cluster, rested_s in self._rested_s.items() if rested_s <= trio.current_time()]

    async def _view(self, cluster: str) -> RingView | None:
        """The cluster as its first member sees it; None if that is too busy to say."""
        try:
            ring = (await self._controls[f"{cluster}-0"].status()).ring
        except PeerSilent as error:
            self._stages.reporter.note(str(error))
            return None
        owners = tuple(RingMember(bytes.fromhex(id_), self._names[id_]) for id_ in ring.owners)
        leader = None if ring.super_node is None else self._names[ring.super_node.id]
        return RingView(cluster, owners, leader)

    def _tell(self, told: Round) -> None:
        figures = self._books.figures()
        counts = f"{figures.acknowledged:,} of {figures.published:,} acknowledged, {figures.lost:,} not yet there"
        faults = f"{figures.duplicates:,} duplicates, {figures.out_of_order:,} out of order"
        away = f"away for {told.away_s:.1f} s, ready after {told.back_s:.1f} s"
        memory = f"{self._memory.mb_max:,.0f} MB"
        self._stages.reporter.note(f"round {told.number}: {told.victim}, {away}; {counts}; {faults}; {memory}")
        self._stages.reporter.progress(told.number)
