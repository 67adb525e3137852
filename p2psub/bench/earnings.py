"""`p2psub bench earning`: what each policy of the links' queues earns where lines between clusters are slow.

Every cluster is one peer, which others reach over a line that carries so many bytes a second. One peer publishes more
than that, for subscriptions of the others, with deadlines, prices and penalties. A policy after the other gets the same
load, on peers that know nothing of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import trio

from p2psub.bench.arrival import wait_for_discharge
from p2psub.bench.bid_load import BidLoad
from p2psub.bench.bid_verdicts import BidVerdicts, Misses, judged
from p2psub.bench.earning_report import EarningReport, EarningResult, EarningSettings, earning_ratios
from p2psub.bench.orders import BidderNotes, BidOrder, Bids, CubeOrder, NoteOrder, NotesOrder, Offered, OfferOrder
from p2psub.bench.overlay import BenchOverlay, open_overlay
from p2psub.bench.plan import EarningPlan
from p2psub.bench.report import bench_settings_of
from p2psub.bench.slow_line import SlowAccess
from p2psub.bench.workers import Worker, open_crew
from p2psub.config import Discipline
from p2psub.demo.stages import ProgressReporter, Stages, patient
from p2psub.model.bids import PRICE_ONE
from p2psub.model.content import Guarantee
from p2psub.runtime.trace_writer import TraceConfig
from p2psub.traces.segments import read_segments

_BIDDER: Final = "p2psub.bench.bidder"
_TRACED_S: Final = TraceConfig().age_s_max * 1.5
"""After it traces are written."""


async def bench_earning(plan: EarningPlan, directory: Path, reporter: ProgressReporter) -> EarningReport:
    """Measure, with all files in this directory."""
    stages, settings = Stages(reporter), earning_settings_of(plan)
    results: list[EarningResult] = []
    for seed in plan.seeds:
        for policy in plan.policies:
            files = directory / f"{policy}-{seed}"
            files.mkdir()
            results.append(await _result(plan, policy, seed, files, stages))
    return EarningReport(
        results=tuple(results), ratios=tuple(earning_ratios(results, plan.rate_per_s)), settings=settings
    )


def earning_settings_of(plan: EarningPlan) -> EarningSettings:
    """The conditions of a run that begins now."""
    general = bench_settings_of(plan, Guarantee.EFFECTIVELY_ONCE, 1 << 16)
    return EarningSettings(
        **msgspec.structs.asdict(general),
        clusters=plan.clusters,
        subscriptions=plan.subscriptions,
        seconds=plan.duration_s,
        link_bytes_per_s=plan.link_bytes_per_s,
        load=plan.load,
        rate_per_s=plan.rate_per_s,
    )


async def _result(plan: EarningPlan, policy: Discipline, seed: int, files: Path, stages: Stages) -> EarningResult:
    """One policy on one load, with peers of their own."""
    title = f"{policy}, seed {seed}"
    load = BidLoad(seed, plan.rate_per_s, plan.duration_s, plan.subscriptions, plan.body_bytes)
    async with (
        open_crew(files) as crew,
        open_overlay(files, crew, traces=True) as overlay,
        trio.open_nursery() as lines,
    ):
        accesses = [SlowAccess(plan.link_bytes_per_s) for _ in range(plan.clusters)]
        with (
            stages.stage(f"{title}: forming {plan.clusters} clusters"),
            patient(plan.patience_s, lambda: f"no cube of {plan.clusters} clusters has formed"),
        ):
            for number, access in enumerate(accesses):
                lines.start_soon(access.run)
                await overlay.add_cluster(f"cluster-{number}", _BIDDER, access, policy)
            for peer in overlay.peers:
                await peer.tell(CubeOrder(plan.clusters))
        trial = _EarningTrial(plan, overlay, accesses, load)
        with (
            stages.stage(f"{title}: subscribing"),
            patient(plan.patience_s, lambda: "not every cluster knows of every subscription"),
        ):
            await trial.subscribe()
        with stages.stage(f"{title}: publishing for {plan.duration_s:g} s"):
            await trial.publish()
        with (
            stages.stage(f"{title}: waiting for the last"),
            patient(plan.patience_s, lambda: "not every event has come to its end"),
        ):
            await trial.end()
        lines.cancel_scope.cancel()
    verdicts = trial.verdicts()
    if verdicts.violations:
        stages.reporter.note(f"{title}: {verdicts}")
    return trial.result(policy, verdicts)


class _EarningTrial:
    """Peers on slow lines, what they do with one load, and what came of it."""

    def __init__(self, plan: EarningPlan, overlay: BenchOverlay, accesses: Sequence[SlowAccess], load: BidLoad) -> None:
        self._plan = plan
        self._peers = overlay.peers
        self._ids = [id_.hex() for id_ in overlay.ids_of(overlay.peers)]
        self._traces = overlay.data_of(overlay.peers[0]) / "traces"
        self._accesses = accesses
        self._load = load
        self._names: dict[str, int] = {}
        """The numbers of the subscriptions, by what the overlay calls them."""
        self._offered = Offered((), ())
        self._busy_share = 0.0
        self._notes: list[BidderNotes] = []

    async def subscribe(self) -> None:
        """Each subscription at one of the peers that do not publish."""
        _, *subscribers = self._peers

        async def bid(place: int, peer: Worker) -> None:
            numbers = tuple(range(place, self._plan.subscriptions, len(subscribers)))
            bids = await peer.ask(BidOrder(self._load, numbers), Bids)
            self._names |= {name: number for number, name in bids.subscriptions.items()}

        async with trio.open_nursery() as nursery:
            for place, peer in enumerate(subscribers):
                nursery.start_soon(bid, place, peer)

    async def publish(self) -> None:
        """Publish all of it."""
        for peer in self._peers:
            await peer.tell(NoteOrder())
        lines = [line for access in self._accesses for line in access.lines]
        before, began_s = [line.carried for line in lines], trio.current_time()
        self._offered = await self._peers[0].ask(OfferOrder(self._load), Offered)
        could = self._plan.link_bytes_per_s * (trio.current_time() - began_s)
        self._busy_share = max(line.carried - then for line, then in zip(lines, before, strict=True)) / could

    async def end(self) -> None:
        """Return when every pair has come to its end, and the traces tell."""
        await wait_for_discharge(self._peers)
        await trio.sleep(_TRACED_S)
        self._notes = [await peer.ask(NotesOrder(), BidderNotes) for peer in self._peers]

    def verdicts(self) -> BidVerdicts:
        """What became of the pairs."""
        misses = Misses.read(read_segments(self._traces), self._load, self._ids[0], self._names, self._offered)
        hand_overs = [one for each in self._notes for one in each.hand_overs]
        return judged(self._load, self._offered, hand_overs, misses)

    def result(self, policy: Discipline, verdicts: BidVerdicts) -> EarningResult:
        """That, and what the lines carried."""
        figures = _LineFigures(self._notes, self._ids)
        return EarningResult(
            policy=policy,
            seed=self._load.seed,
            published=sum(sequence > 0 for sequence in self._offered.sequences),
            matched=verdicts.matched,
            on_time=verdicts.on_time,
            expired=verdicts.expired,
            late=verdicts.late,
            earned=verdicts.earned / PRICE_ONE,
            penalties=verdicts.penalties / PRICE_ONE,
            earning=(verdicts.earned - verdicts.penalties) / PRICE_ONE,
            link_busy_share=round(self._busy_share, 3),
            committed_ms_p99=round(figures.committed_p99() * 1e3 / self._plan.link_bytes_per_s, 1),
            heartbeat_ms_p99=round(percentile(figures.beats_us(), 99) / 1e3, 1),
            content_copies=figures.content_copies,
            violations=verdicts.violations,
        )


@dataclass(frozen=True, slots=True)
class _LineFigures:
    """What all peers noted of their links, in the order of their ids."""

    notes: Sequence[BidderNotes]
    ids: Sequence[str]

    def committed_p99(self) -> int:
        """Bytes under way from one cluster to another, where they were most."""
        links = [link for sender in self.notes for id_, link in sender.links.items() if id_ in self.ids]
        return max((percentile(link.committed, 99) for link in links), default=0)

    def beats_us(self) -> list[int]:
        """How long heartbeats were on their way: the steady clock of each peer is some constant off the machine's."""
        return [late_us for receiver in self.notes for late_us in self._beats_at(receiver)]

    def _beats_at(self, receiver: BidderNotes) -> Iterator[int]:
        for id_, sender in zip(self.ids, self.notes, strict=True):
            if id_ in receiver.links:
                off_us = receiver.clock_off_us - sender.clock_off_us
                yield from (beat_us + off_us for beat_us in receiver.links[id_].beats_us)

    @property
    def content_copies(self) -> float:
        """Bodies that came over lines, to those that had to."""
        links = [link for each in self.notes for link in each.links.values()]
        distinct = sum(link.distinct_bodies for link in links)
        return round(sum(link.bodies for link in links) / distinct, 4) if distinct else 0.0


def percentile(numbers: Iterable[int], percent: int) -> int:
    """What so many of 100 numbers do not exceed; 0 of none."""
    ordered = sorted(numbers)
    return ordered[(len(ordered) - 1) * percent // 100] if ordered else 0
