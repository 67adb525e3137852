"""Many seeds of one scenario, on all cores, and what they show together."""

from __future__ import annotations

import hashlib
import multiprocessing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from p2psub.model.bids import PRICE_ONE
from sims.checkers.evidence import shown
from sims.scenarios.run import SeedReport, run
from sims.scenarios.scenario import Scenario

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Job:
    """One seed of a campaign."""

    scenario: Scenario
    seed: int
    codec_share: int = 0
    keep_entries: bool = False


def perform(job: Job) -> SeedReport:
    """Run one job, in whatever process."""
    return run(job.scenario, job.seed, codec_share=job.codec_share, keep_entries=job.keep_entries)


def reports(jobs: list[Job], processes: int) -> Iterator[SeedReport]:
    """The reports of all jobs as they come; each job is its own world, so processes do not matter to any of them."""
    return in_processes(perform, jobs, processes)


def in_processes(function: Callable[[T], R], items: list[T], processes: int) -> Iterator[R]:
    """What `function` makes of the items, as it comes; in this process if one is enough."""
    if processes <= 1 or len(items) == 1:
        yield from map(function, items)
        return
    # Spawned, not forked: a run must not see anything of its parent, the hash seed least of all.
    with multiprocessing.get_context("spawn").Pool(min(processes, len(items)), maxtasksperchild=8) as pool:
        yield from pool.imap_unordered(function, items)


def figures(done: list[SeedReport]) -> dict[str, object]:
    """The campaign in one object; lists and digests are in the order of the seeds, whatever came first."""
    done = sorted(done, key=lambda report: report.seed)
    judged = [report.judgement for report in done]
    carried = [report.carried for report in done]
    cost = [judgement.cast_costs for judgement in judged]
    outcomes: dict[str, int] = {}
    for judgement in judged:
        for outcome, count in judgement.outcomes.items():
            outcomes[outcome] = outcomes.get(outcome, 0) + count
    cpu_seconds = sum(report.cpu_seconds for report in done)
    node_seconds = sum(report.nodes * report.virtual_seconds for report in done)
    return {
        "seeds": len(done),
        "nodes": max((report.nodes for report in done), default=0),
        "crashes": sum(report.crashes for report in done),
        "wipes": sum(report.wipes for report in done),
        "partitions": sum(report.partitions for report in done),
        "published": sum(judgement.published for judgement in judged),
        "acknowledged": sum(judgement.acknowledged for judgement in judged),
        "obligations": sum(judgement.obligations for judgement in judged),
        "delivered": sum(judgement.delivered for judgement in judged),
        "outcomes": dict(sorted(outcomes.items())),
        "lost": sum(judgement.lost for judgement in judged),
        "duplicates": sum(judgement.duplicates for judgement in judged),
        "messages": sum(report.messages for report in done),
        "wire_duplicates": sum(report.wire_duplicates for report in done),
        "violations": [
            {
                "seed": report.seed,
                "invariant": finding.invariant,
                "record": finding.text if finding.record is None else shown(finding.record),
                "text": finding.text,
                "at_seconds": None if finding.at_us is None else finding.at_us / 1e6,
            }
            for report in done
            for finding in report.findings
            if not finding.is_vacuous
        ],
        "too_short": [
            {"seed": report.seed, "text": finding.text}
            for report in done
            for finding in report.findings
            if finding.is_vacuous
        ],
        "failover_heartbeats_max": round(max((j.failover_heartbeats_max for j in judged), default=0.0), 3),
        "join_heartbeats_max": round(max((j.join_heartbeats_max for j in judged), default=0.0), 3),
        "owner_replaced_heartbeats_max": round(max((j.owner_replaced_heartbeats_max for j in judged), default=0.0), 3),
        "disk_full_refusals": sum(judgement.disk_full_refusals for judgement in judged),
        "beyond_horizon": sum(judgement.beyond_horizon for judgement in judged),
        "ordered_pairs": sum(judgement.ordered_pairs for judgement in judged),
        "order_gaps": sum(judgement.order_gaps for judgement in judged),
        "expired": sum(judgement.expired for judgement in judged),
        "late": sum(judgement.late for judgement in judged),
        "hopeless": sum(judgement.earnings.hopeless for judgement in judged),
        "on_time": sum(judgement.earnings.on_time for judgement in judged),
        "earned": sum(judgement.earnings.earned for judgement in judged) / PRICE_ONE,
        "penalties": sum(judgement.earnings.penalties for judgement in judged) / PRICE_ONE,
        "earning": sum(j.earnings.earned - j.earnings.penalties for j in judged) / PRICE_ONE,
        "paths": ",".join(sorted({report.scenario.node.cube.paths for report in done})),
        "transfers_per_broadcast": _share(sum(c.by_broadcasts for c in cost), sum(c.broadcasts for c in cost)),
        "transfers_per_multicast": _share(sum(c.by_multicasts for c in cost), sum(c.multicasts for c in cost)),
        "content_copies": _share(sum(c.transmitted for c in carried), sum(c.needed for c in carried)),
        "discharged_share": _share(sum(j.discharged for j in judged), sum(j.owed_events for j in judged)),
        "heartbeat_gap_ms_max": max((c.beat_gap_us_max for c in carried), default=0) // 1000,
        "node_seconds_per_cpu_second": round(node_seconds / cpu_seconds, 1) if cpu_seconds else 0.0,
        "digest": _digest_of([report.digest for report in done]),
    }


def _share(part: int, whole: int) -> float:
    """A part of a whole, where there is one."""
    return round(part / whole, 4) if whole else 1.0


def _digest_of(digests: list[str]) -> str:
    """A campaign's digest; that of a single seed is the trace's own."""
    if len(digests) == 1:
        return digests[0]
    return hashlib.blake2b(" ".join(digests).encode(), digest_size=16).hexdigest()
