"""What Spark finds in the segments of simulated runs is what the simulator's own checkers find in the runs.

The machines' clocks agree here, so that the true time of the checkers is the time of the trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from p2psub.analysis.answers.earnings import earning_totals, earnings
from p2psub.analysis.audit_context import AuditContext
from p2psub.analysis.audits import books, broadcasts, conservation, copies, deliveries, lateness, liveness, losses
from p2psub.analysis.audits.lateness import DRIFT_SHARE
from p2psub.analysis.compaction import compact
from p2psub.analysis.debts import acknowledged
from p2psub.analysis.figures import figures
from p2psub.analysis.rematch import rematch
from p2psub.analysis.schemas import KEY_BITS
from p2psub.analysis.silent_spans import SilentSpans
from p2psub.analysis.tables import Tables
from p2psub.model.bids import PRICE_ONE
from p2psub.model.content import Guarantee
from p2psub.model.ids import EventId, SubscriptionId
from p2psub.model.instants import Stamp
from p2psub.model.records import Kind, Record
from p2psub.traces.shelf import Shelf
from sims.checkers import judge, obligations
from sims.checkers.books import Earnings, earnings_of
from sims.checkers.evidence import Evidence, Finding
from sims.scenarios.run import Play
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Stage
from sims.workloads.load import Load
from tests.analysis.rows import Numbers, tables_of
from tests.mutants import applications, owed_parcels
from tests.mutants import books as book_mutants
from tests.mutants import lateness as time_mutants
from tests.mutants.hostile import OWNERS_FALL, TIME_RUNS_OUT
from tests.mutants.mutant import Break

pytestmark = pytest.mark.slow

_LOAD = Load(
    subscriptions=48,
    events_per_second=20.0,
    churn_per_second=2.0,
    priced_share=0.7,
    timed_share=0.3,
    limit_ms_min=20,
    limit_ms_max=5_000,
    slow_share=0.3,
)
CUT = Scenario(seconds=100.0, faults=("loss", "duplicate", "partition"), schedules=(), load=_LOAD)
"""64 nodes whose clusters are parted for a while."""
CRASHED = Scenario(seconds=100.0, faults=("crash", "loss", "duplicate"), schedules=(), load=_LOAD)
"""64 nodes of which some fall and come back."""


_PROMISED = Guarantee.EFFECTIVELY_ONCE


class Run(NamedTuple):
    """One run as the simulator judges it, and its trace as the analysis gets it."""

    evidence: Evidence
    owed: obligations.Obligations
    findings: list[Finding]
    records: list[Record]
    numbers: Numbers

    def pairs(self, several: Iterable[tuple[EventId, SubscriptionId]]) -> set[tuple[int | None, int | None]]:
        return {(self.numbers.key(event), self.numbers.key(subscription)) for event, subscription in several}

    def named(self, invariant: str) -> set[tuple[int | None, int | None]]:
        """Pairs that findings of the simulator name: the event of the record, the subscription said last or its own."""
        found = [(one.record, _NAME.findall(one.text)) for one in self.findings if one.invariant == invariant]
        starts = {f"{node.hex()[:8]}.{start}": number for (node, start), number in self.numbers.processes.items()}
        return {
            (
                self.numbers.key(record.event),
                starts[said[-1][0]] << KEY_BITS | int(said[-1][1]) if said else self.numbers.key(record.subscription),
            )
            for record, said in found
            if record is not None
        }

    @property
    def running(self) -> set[int]:
        """The processes that run in the end."""
        return {self.numbers.processes[site.node, site.incarnation] for site in self.evidence.sites if site.incarnation}


_NAME = re.compile(r"([0-9a-f]{8}\.\d+)\.(\d+)")
"""A subscription, or an event, as findings call it."""
_SPANS = re.compile(r"[0-9]+\.[0-9]+(?= s)")


def perform(scenario: Scenario, seed: int, broken: Break | None = None) -> Run:
    """Play and judge a scenario; who runs in the end closes its trace."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sims.engine.world.SKEW_US_MAX", 0)
        if broken is not None:
            broken(patch)
        play = Play(Stage(scenario, seed))
        play.perform()
        evidence = play.evidence()
        owed = obligations.obligations_of(evidence)
        findings = list(judge._all(evidence, owed))
    records = [record for _, record in evidence.entries]
    end = Stamp(max(record.stamp for record in records).wall_us + 1, 0)
    last = {(record.node, record.incarnation): record for record in records}
    for site in evidence.sites:
        if (site.node, site.incarnation) in last:
            one = last[site.node, site.incarnation or 0]
            records.append(Record(Kind.CLOSE, one.node, one.incarnation, one.sequence + 1, end))
    return Run(evidence, owed, findings, records, Numbers.of(records))


def write(run: Run, directory: Path) -> None:
    """The trace as segments, as peers write them."""
    by_process: dict[tuple[bytes, int], list[Record]] = {}
    for record in run.records:
        by_process.setdefault((record.node, record.incarnation), []).append(record)
    for several in by_process.values():
        node = several[0].node
        Shelf(directory / node.hex()[:10], node, 1 << 40).add(several)


def terms_of(tables: Tables) -> AuditContext:
    """What audits share, matched anew."""
    acks = acknowledged(tables).persist()
    return AuditContext(rematch(tables, acks).persist(), acks=acks, silent_spans=SilentSpans.of(tables))


def pairs_of(rows: Iterable[Any]) -> set[tuple[int, int]]:
    """Whom findings are about."""
    return {(row.event, row.subscription) for row in rows}


@pytest.mark.parametrize(
    ("scenario", "seed"),
    [pytest.param(CUT, 1, id="cut"), pytest.param(CRASHED, 2, id="crashed")],
)
def test_64_nodes_are_judged_alike(spark: SparkSession, tmp_path: Path, scenario: Scenario, seed: int) -> None:
    """Obligations, deliveries, losses, duplicates, transfers and violations, all through real segments."""
    run = perform(scenario, seed)
    assert run.findings == []
    assert len(run.evidence.sites) == 64
    write(run, tmp_path / "traces")
    tables = compact(spark, [tmp_path / "traces"], tmp_path / "tables").tables
    context = terms_of(tables)
    assert context.pairs is not None
    counted = context.pairs.agg(F.count_if("is_owed").alias("owed"), F.count_if(~F.col("is_wanted")).alias("unwanted"))
    assert counted.first() == (len(run.owed.owed), 0)
    handed = tables.of(Kind.DELIVER)
    distinct = handed.select("event", "subscription").distinct().count()
    assert (handed.count(), distinct) == (len(run.evidence.of(Kind.DELIVER)), len(run.owed.delivered))
    if scenario is CUT:
        assert headline_of(tables) == _headline(run)
    assert earnings_by_spark(tables) == earnings_of(run.evidence)
    assert earnings_of(run.evidence).penalties > 0
    transfers = tables.of(Kind.FORWARD).groupBy("cast").count().groupBy("count").count()
    assert {row[0]: row[1] for row in transfers.collect()} == _transfers(run)
    found = [
        row
        for audit in (losses, deliveries, lateness, books, copies, broadcasts, conservation, liveness)
        for row in audit.audit(tables, context).collect()
    ]
    assert [row for row in found if row.verdict == "violated"] == []
    # Where nobody fell nothing is unknown; else only what may lie in the tails of those who did.
    assert not found or run.evidence.faults.crashes
    spark.catalog.clearCache()


def earnings_by_spark(tables: Tables) -> Earnings:
    """What the analysis says that the pairs of the run earned, in millionths again."""
    (found,) = earning_totals(earnings(tables)).collect()
    earned, penalties = (round(amount * PRICE_ONE) for amount in (found.earned, found.penalties))
    return Earnings(on_time=found.on_time, hopeless=found.hopeless, earned=earned, penalties=penalties)


def headline_of(tables: Tables) -> dict[str, Any]:
    """What the analysis tells first, as far as the simulator can count it by itself."""
    found = figures(tables)
    counted = (
        "published",
        "matched",
        "delivered",
        "lost",
        "unknown",
        "duplicates",
        "duplicate_rate",
        "casts",
        "hops_max",
    )
    return {name: getattr(found, name) for name in counted}


def _headline(run: Run) -> dict[str, Any]:
    """The same, counted in the run."""
    new = [Kind.RECEIVE, Kind.STORE, Kind.DELIVER]
    repeated = [record.count or 1 for _, record in run.evidence.of(Kind.DUPLICATE)]
    acknowledged = {record.event: record.matched or 0 for _, record in run.evidence.of(Kind.ACKNOWLEDGE)}
    matched: dict[EventId | None, list[int]] = {}
    for _, record in run.evidence.of(Kind.MATCH):
        # Owners of shards each find their own; who promises something asks them, and then somebody may do it again.
        is_promised = record.guarantee is Guarantee.EFFECTIVELY_ONCE
        several, one = matched.get(record.event, []), record.matched or 0
        matched[record.event] = [max([one, *several])] if is_promised else [*several, one]
    claims = {event: sum(several) for event, several in matched.items()} | acknowledged
    return {
        "published": len(run.evidence.of(Kind.PUBLISH)),
        "matched": sum(claims.values()),
        "delivered": len(run.owed.delivered),
        "lost": 0,
        "unknown": 0,
        "duplicates": sum(repeated),
        "duplicate_rate": sum(repeated) / sum(len(run.evidence.of(kind)) for kind in new),
        "casts": len(run.evidence.of(Kind.CAST)),
        "hops_max": max(record.hops or 0 for _, record in run.evidence.of(Kind.RECEIVE)),
    }


def _transfers(run: Run) -> dict[int, int]:
    """How many casts took how many transfers."""
    per_cast: dict[object, int] = {}
    for _, record in run.evidence.of(Kind.FORWARD):
        per_cast[record.cast] = per_cast.get(record.cast, 0) + 1
    return {count: list(per_cast.values()).count(count) for count in set(per_cast.values())}


def test_a_subscriber_without_memory_breaks_the_same_promise_for_both(spark: SparkSession) -> None:
    """A mutant that hands every copy over: the same pairs, as often, and nothing else is violated.

    No subscription asks for an order here: a second copy breaks that, too, and Spark does not audit it.
    """
    unordered = replace(OWNERS_FALL, load=replace(OWNERS_FALL.load, ordered_share=0.0))
    run = perform(unordered, 0, applications.remembers_nothing_handed_over)
    tables = tables_of(spark, run.records)
    twice = [row for row in deliveries.audit(tables).collect() if row.verdict == "violated"]
    assert {row.invariant for row in twice} == {finding.invariant for finding in run.findings} == {"S2"}
    again = [finding.record for finding in run.findings if finding.record is not None]
    assert pairs_of(twice) == run.pairs((r.event, r.subscription) for r in again if r.event and r.subscription)


def _is_clear(text: str) -> bool:
    """Whether a pair expired earlier by more than clocks may differ, and findings are rounded."""
    age_s, limit_s = map(float, _SPANS.findall(text))
    return age_s < limit_s * (1 - 1 / DRIFT_SHARE) - 0.001


def test_an_owner_that_expires_early_is_found_by_both(spark: SparkSession) -> None:
    """A mutant that calls pairs expired at half of their time: S18 is violated for the same pairs, and nothing else.

    Clocks of steady processes may differ by a thousandth, and Spark has no other: it lets that pass.
    """
    run = perform(TIME_RUNS_OUT, 0, time_mutants.expires_early)
    found = lateness.audit(tables_of(spark, run.records)).collect()
    early = [row for row in found if row.verdict == "violated"]
    assert {finding.invariant for finding in run.findings} == {"S18"}
    clearly = [finding.record for finding in run.findings if finding.record is not None and _is_clear(finding.text)]
    assert len(clearly) > len(run.findings) / 2
    assert run.pairs((r.event, r.subscription) for r in clearly if r.event and r.subscription) <= pairs_of(early)
    assert pairs_of(early) <= run.named("S18")


def test_an_owner_that_counts_a_pair_twice_is_found_by_both(spark: SparkSession) -> None:
    """A mutant of the books: S19 is violated for the same processes, by what they told their traces last."""
    run = perform(TIME_RUNS_OUT, 0, book_mutants.counts_a_pair_twice)
    told = {(one.record.node, one.record.incarnation): one.record for one in run.findings if one.record is not None}
    assert {finding.invariant for finding in run.findings} == {"S19"}
    last = {(r.node, r.incarnation): r for r in run.records if r.kind is Kind.BOOKS and r.guarantee is _PROMISED}
    wrong = {run.numbers.processes[process] for process, record in told.items() if last[process] is record}
    assert wrong
    assert {row.process for row in books.audit(tables_of(spark, run.records)).collect()} == wrong


def test_an_owner_that_believes_itself_loses_the_same_events_for_both(spark: SparkSession) -> None:
    """A mutant that takes what it sent for delivered: S1 and conservation are violated for the same pairs.

    One difference there is, and it is meant: what a subscriber missed that was killed later may lie in its lost tail,
    so here it is unknown, while the simulator's checkers know.
    """
    run = perform(OWNERS_FALL, 0, owed_parcels.calls_it_delivered_when_sent)
    tables = Tables(*(frame.coalesce(1).persist() for frame in tables_of(spark, run.records)))
    context = terms_of(tables)
    found = [row for audit in (losses, conservation) for row in audit.audit(tables, context).collect()]
    violated = [row for row in found if row.verdict == "violated"]
    assert {row.invariant for row in violated} == {finding.invariant for finding in run.findings}
    missed = run.named("S1")
    lost = {pair for pair in missed if pair[1] is not None and pair[1] >> KEY_BITS in run.running}
    assert lost
    assert pairs_of(row for row in violated if row.invariant == "S1") == lost
    assert missed - lost
    assert missed - lost <= pairs_of(row for row in found if (row.invariant, row.verdict) == ("S1", "unknown"))
    assert pairs_of(row for row in violated if row.invariant == "conservation") == run.named("conservation")
    spark.catalog.clearCache()
