"""Every figure of a planted trace is exactly what was planted, and never a wrong one where the trace has a hole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from p2psub.analysis.answers.casts import cast_totals, casts
from p2psub.analysis.answers.conservation import conservation
from p2psub.analysis.answers.coverage import coverage, coverage_totals
from p2psub.analysis.answers.delays import delays, links
from p2psub.analysis.answers.duplicates import duplicate_causes, duplicate_totals, duplicates
from p2psub.analysis.answers.latency import latency
from p2psub.analysis.answers.load import load, load_balance, load_by_cluster
from p2psub.analysis.answers.timeline import timeline
from p2psub.analysis.compaction import compact
from p2psub.analysis.figures import LatencyMs, figures
from p2psub.model.content import Guarantee
from p2psub.model.records import Kind
from tests.analysis.market import market
from tests.analysis.planted_trace import BEGIN_US, PlantedTrace, node_of


def rows(frame: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    """Some columns of all rows, in order."""
    return sorted((tuple(row) for row in frame.select(*names).collect()), key=repr)


COUNTS = ("expected", "delivered", "ended", "missing", "lost", "unknown", "still_owed", "missed")


def test_coverage_is_exact(spark: SparkSession) -> None:
    """Each event's pairs are delivered, ended, lost, still owed or missed, as planted; a loss is not hidden."""
    tables = market().tables(spark)
    found = [tuple(row) for row in coverage(tables).orderBy("event").select(*COUNTS, "coverage").collect()]
    assert found == [
        (2, 2, 0, 0, 0, 0, 0, 0, 1.0),
        (2, 1, 0, 1, 1, 0, 0, 0, 0.5),
        (2, 1, 1, 0, 0, 0, 0, 0, 1.0),
        (1, 0, 0, 1, 0, 0, 1, 0, None),
        (None, 1, 0, 0, 0, 0, 0, 0, None),
        (2, 1, 0, 1, 0, 0, 0, 1, 0.5),
        (2, 2, 0, 0, 0, 0, 0, 0, 1.0),
        (1, 1, 0, 0, 0, 0, 0, 0, 1.0),
    ]


@pytest.mark.parametrize("hole", [{"cut": "carol"}, {"lost_in": "carol"}])
def test_what_a_missing_part_may_hold_is_unknown(spark: SparkSession, hole: dict[str, str]) -> None:
    """A cut tail, or a gap, turns every missing pair into an unknown one: neither lost nor delivered."""
    totals = coverage_totals(market(**hole).tables(spark))
    assert rows(totals, "guarantee", *COUNTS[3:], "coverage") == [
        ("at_most_once", 1, 0, 1, 0, 0, 1.0),
        ("effectively_once", 2, 0, 2, 0, 0, 1.0),
    ]


def test_owners_of_shards_find_their_own_matches_of_what_promises_nothing(spark: SparkSession) -> None:
    """Two there and three here are five; who promises something has asked the others, and two say the same."""
    trace = PlantedTrace()
    owner, shard, bob = (trace.process(name) for name in ("owner", "shard", "bob"))
    wanted = [bob.subscribe() for _ in range(5)]
    straight, promised = bob.publish(guarantee=Guarantee.AT_MOST_ONCE), bob.publish()
    for event in (straight, promised):
        owner.match(event, 2)
        shard.match(event, 3)
    for subscription in wanted[:3]:
        bob.deliver(straight, subscription)
    for process in (owner, shard, bob):
        process.close()
    assert rows(coverage_totals(trace.tables(spark)), "guarantee", "matched", "missed", "coverage") == [
        ("at_most_once", 5, 2, 0.6),
        ("effectively_once", 3, 0, None),
    ]


def test_a_process_cut_before_the_event_holds_nothing(spark: SparkSession) -> None:
    """A peer that was killed and came back before the event was published cannot hide that it was lost."""
    trace = PlantedTrace()
    before = trace.process("bob", at_ms=0)
    after, owner = trace.process("bob", 2, at_ms=50), trace.process("owner", at_ms=0)
    after.ring(at_ms=59)
    event = owner.publish(at_ms=60)
    owner.store(event, owed=1, at_ms=61)
    owner.acknowledge(event, count=1, at_ms=62)
    owner.discharge(event, at_ms=63)
    for process in (after, owner):
        process.close(at_ms=90)
    assert before.records[-1].kind is Kind.START
    assert rows(coverage(trace.tables(spark)), "lost", "unknown") == [(1, 0)]


def test_latency_and_delays_are_exact(spark: SparkSession) -> None:
    """Few values: percentiles are values that occurred. D_sub ends with the first stable verdict."""
    tables = market().tables(spark)
    ms = [
        (measure, guarantee, count, *(us / 1_000 for us in rest))
        for measure, guarantee, count, *rest in rows(
            latency(tables), "measure", "guarantee", "count", "min_us", "p50_us", "p99_us", "max_us"
        )
    ]
    assert ms == [
        ("D_diff", "all", 7, 3, 30, 5_000, 5_000),
        ("D_diff", "at_most_once", 1, 3, 3, 3, 3),
        ("D_diff", "effectively_once", 6, 10, 30, 5_000, 5_000),
        ("D_sub", "all", 2, 3, 3, 10, 10),
        ("delivery", "all", 10, 3, 20, 5_000, 5_000),
        ("delivery", "at_most_once", 1, 3, 3, 3, 3),
        ("delivery", "effectively_once", 9, 10, 30, 5_000, 5_000),
    ]
    assert rows(delays(tables), "stage", "count", "min_us", "max_us", "mean_us") == [
        ("publish to store", 6, 2_000, 2_000, 2_000.0),
        ("store to acknowledge", 6, 2_000, 4_000, 14_000 / 6),
        ("store to deliver", 8, 8_000, 4_998_000, 5_205_000 / 8),
    ]


def test_duplicates_by_node_and_cause(spark: SparkSession) -> None:
    """Formula 2: what came again over what was new, per node and over all; counts of untraced events are in it."""
    trace = market()
    tables = trace.tables(spark)
    name = {node_of(name).hex(): name for name in ("alice", "owner", "successor", "bob", "carol")}
    found = {name[id_]: rest for id_, *rest in rows(duplicates(tables), "id", "new", "repeated", "rate")}
    assert found == {
        "owner": [6, 1, 1 / 6],
        "successor": [1, 0, 0.0],
        "bob": [7, 4, 4 / 7],
        "carol": [43, 0, 0.0],
    }
    assert rows(duplicate_causes(tables), "reason", "repeated", "nodes") == [
        ("delivered_before", 1, 1),
        ("parcel_repeated", 3, 1),
        ("publish_repeated", 1, 1),
    ]
    assert rows(duplicate_totals(tables), "new", "repeated", "rate", "casts_rate") == [(57, 5, 5 / 57, None)]


def cube() -> PlantedTrace:
    """Four clusters, a super-node each; two broadcasts and a multicast. The last broadcast misses one of three."""
    trace = PlantedTrace()
    a, b, c, d = (trace.process(name, cluster=name, at_ms=0) for name in "abcd")
    for n, peer in enumerate((a, b, c, d)):
        peer.ring(at_ms=5)
        peer.role(at_ms=10 + n)
        a.directory(peer, format(n, "02b"), at_ms=15)
    good = a.cast(at_ms=100)
    a.forward(good, b, "1", at_ms=101)
    a.forward(good, c, "01", at_ms=102)
    b.receive(good, a, "1", hops=1, at_ms=105)
    c.receive(good, a, "01", hops=1, at_ms=108)
    b.forward(good, d, "11", at_ms=106)
    d.receive(good, b, "11", hops=2, at_ms=116)
    bad = b.cast(at_ms=200)
    for tries in (1, 2):
        b.forward(bad, a, "0", tries=tries, at_ms=200 + tries)
    a.receive(bad, b, "0", hops=1, at_ms=205)
    a.duplicate("cast_repeated", cast=bad, peer=b.node, prefix="0", at_ms=206)
    a.receive(bad, b, "00", hops=3, at_ms=207)  # a second subcube, the same receiver
    b.forward(bad, d, "11", at_ms=203)
    d.receive(bad, b, "11", hops=1, at_ms=209)
    c.role("abdicated", at_ms=300)
    several = d.cast("EventPayload", at_ms=400)
    d.forward(several, a, "0", at_ms=401)
    a.receive(several, d, "0", at_ms=404)
    c2 = trace.process("c2", cluster="c", at_ms=350)
    c2.role(at_ms=360)
    last = a.cast(at_ms=500)
    for peer in (b, c2, d):
        a.forward(last, peer, at_ms=501)
        peer.receive(last, a, at_ms=503)
    for peer in (a, b, c, d, c2):
        peer.close(at_ms=600)
    return trace


def test_casts_are_weighed_against_the_super_nodes_of_their_time(spark: SparkSession) -> None:
    """N - 1 receivers of a broadcast, each counted once; messages beyond that are excess. Links show their delay."""
    tables = cube().tables(spark)
    names = ("payload", "expected", "reached", "missing", "unknown", "transfers", "excess", "hops", "duplicates")
    found = [tuple(row) for row in casts(tables).orderBy("started_us").select(*names, "duration_us").collect()]
    assert found == [
        ("ChangePayload", 3, 3, 0, 0, 3, 0, 2, 0, 16_000),
        ("ChangePayload", 3, 2, 1, 0, 3, 0, 3, 1, 9_000),
        ("EventPayload", 1, 1, 0, 0, 1, 0, 1, 0, 4_000),
        ("ChangePayload", 3, 3, 0, 0, 3, 0, 1, 0, 3_000),
    ]
    totals = rows(cast_totals(tables), "payload", "coverage", "messages_per_cast", "hops_max", "without_excess")
    assert totals == [("ChangePayload", 8 / 9, 3.0, 3, 3), ("EventPayload", 1.0, 1.0, 1, 1)]
    assert rows(delays(tables), "stage", "count", "min_us", "max_us") == [("forward to receive", 9, 2_000, 10_000)]
    assert sum(row[0] for row in rows(links(tables), "casts")) == 9


def test_terms_have_a_beginning_an_end_and_a_gap_between(spark: SparkSession) -> None:
    """A cluster without super-node shows as vacant until the next term."""
    found = rows(timeline(cube().tables(spark)), "cluster", "began_us", "ended_us", "end", "vacant_us")
    assert [(c, began - BEGIN_US, ended - BEGIN_US, end, gap) for c, began, ended, end, gap in found] == [
        ("a", 10_000, 600_000, "closed", None),
        ("b", 11_000, 600_000, "closed", None),
        ("c", 12_000, 300_000, "abdicated", None),
        ("c", 360_000, 600_000, "closed", 60_000),
        ("d", 13_000, 600_000, "closed", None),
    ]


def test_load_and_conservation_of_the_cube(spark: SparkSession) -> None:
    """Who did how much, by node, cluster and prefix; and every cast that was sent is new, repeated, or gone."""
    tables = cube().tables(spark)
    assert rows(load_by_cluster(tables), "cluster", "prefix", "nodes", "forwarded", "received") == [
        ("a", "00", 1, 5, 3),
        ("b", "01", 1, 4, 2),
        ("c", "10", 2, 0, 2),
        ("d", "11", 1, 1, 3),
    ]
    ring = {row["id"]: row["ring"] for row in load(tables).collect()}
    assert all(abs(int(id_, 16) / 16**40 - place) < 1e-12 for id_, place in ring.items())
    balance = {row["measure"]: row for row in load_balance(tables).collect()}
    forwarded = balance["forwarded"]
    assert (forwarded["total"], forwarded["max"], forwarded["max_over_mean"]) == (10, 5, 2.5)
    assert forwarded["gini"] == pytest.approx(sum(abs(x - y) for x in (5, 4, 0, 1, 0) for y in (5, 4, 0, 1, 0)) / 100)
    laws = rows(conservation(tables), "law", "total", "taken", "other", "difference")
    assert laws == [
        ("received", 1, 1, 0, 0),
        ("received", 1, 1, 0, 0),
        ("received", 2, 2, 0, 0),
        ("received", 3, 3, 0, 0),
        ("received", 3, 3, 1, -1),
    ]


@pytest.mark.slow
def test_the_headline_is_the_same_from_segments_that_were_copied(spark: SparkSession, tmp_path: Path) -> None:
    """All figures of a trace on the disk, of which half the segments are there twice."""
    trace = market()
    trace.write(tmp_path / "in", batch=7)
    trace.write(tmp_path / "in" / "copy", batch=7, of=trace.processes[:3])
    compacted = compact(spark, [tmp_path / "in"], tmp_path / "out")
    assert compacted.rows == len(trace.records)
    found = figures(compacted.tables)
    assert (found.published, found.matched, found.delivered, found.delivered_untraced) == (8 + 63, 13, 9, 40)
    assert (found.lost, found.unknown, found.still_owed, found.ended, found.missed) == (1, 0, 1, 1, 1)
    assert found.coverage == 8 / 10
    assert (found.duplicates, found.duplicate_rate) == (5, 5 / 57)
    assert found.latency_ms == LatencyMs(20, 5_000, 5_000)
    assert (found.casts, found.messages_per_cast, found.hops_max) == (0, None, None)
