"""DuckDB, with SQL of its own over the same rows, comes to the same figures on traces that nobody thought of."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from p2psub.analysis.answers import QUESTIONS
from p2psub.analysis.benchmark.queries import QUERIES
from p2psub.analysis.benchmark.traces import write_trace
from p2psub.analysis.schemas import RECORDS
from p2psub.analysis.tables import Tables
from p2psub.model.content import Guarantee
from p2psub.model.ids import EventId, SubscriptionId
from p2psub.model.records import Kind
from tests.analysis.opinions import audited_by_duckdb, audited_by_spark, compared, second_opinion
from tests.analysis.planted_trace import PlantedTrace, Process

GUARANTEES = list(Guarantee)
REASONS = ["delivered", "unsubscribed", "expired", "deferred"]


def wild_trace(seed: int) -> PlantedTrace:
    """Events, casts and terms at random: lost, late, twice, out of order, cut, with gaps."""
    rng = Random(seed)
    trace = PlantedTrace()
    peers = [trace.process(f"p{n}", cluster=f"c{n % 3}", at_ms=rng.randrange(9)) for n in range(8)]
    peers += [trace.process(f"p{n}", 2, cluster=f"c{n % 3}", at_ms=rng.randrange(500)) for n in range(2)]
    wanted = [(peer, peer.subscribe(at_ms=rng.randrange(10, 20))) for peer in peers for _ in range(2)]
    for peer, subscription in wanted:
        if rng.random() < 0.7:
            peer.verdict(subscription, at_ms=rng.randrange(20, 60))
    for n in range(60):
        _plant_event(rng, peers, wanted, at_ms=20 + 10 * n)
    for peer in peers[:6]:
        epoch = rng.choice([peer.epoch, peers[0].epoch])
        peer.role(rng.choice(["super_node", "super_node", "deposed"]), at_ms=rng.randrange(5, 300), epoch=epoch)
    for n in range(20):
        _plant_cast(rng, peers, at_ms=20 + 30 * n)
        _plant_cast(rng, peers, at_ms=60_000 + 3_000 * n)
    for n in range(20):
        _plant_change(rng, peers, wanted, at_ms=20 + 30 * n)
    rng.choice(wanted)[0].unsubscribe(rng.choice(wanted)[1])
    for peer in peers:
        if rng.random() < 0.2:
            peer.lose()
            peer.drop("trace_overflow", count=1, at_ms=rng.randrange(900))
        if rng.random() < 0.1:
            peer.drop("trace_discarded", count=1)
        if rng.random() < 0.9:
            peer.close(at_ms=200_000)
    return trace


def _plant_event(rng: Random, peers: list[Process], wanted: list[tuple[Process, SubscriptionId]], at_ms: int) -> None:
    publisher, owner, successor = rng.choice(peers), rng.choice(peers), rng.choice(peers)
    guarantee = rng.choice(GUARANTEES)
    event: EventId = publisher.publish(guarantee=guarantee, at_ms=at_ms)
    claims = rng.sample(wanted, rng.randrange(5))
    owner.match(event, len(claims), at_ms=at_ms + 1)
    if guarantee is Guarantee.EFFECTIVELY_ONCE:
        owner.store(event, owed=len(claims), at_ms=at_ms + rng.random())
        if rng.random() < 0.2:
            successor.store(event, owed=rng.randrange(5), at_ms=at_ms + rng.random())
        for holder in rng.sample(peers, rng.randrange(3)):
            holder.keep(event, at_ms=at_ms + 2 * rng.random())
        if rng.random() < 0.8:
            said: dict[str, Any] = {"copies": rng.choice([None, 1, 1, 2, 3]), "peer": rng.choice([None, owner.node])}
            publisher.acknowledge(event, count=len(claims), at_ms=at_ms + 3 + rng.random(), **said)
        if rng.random() < 0.7:
            owner.discharge(event, count=rng.choice([len(claims), rng.randrange(5)]), at_ms=at_ms + 99)
        for _, subscription in claims:
            for teller in (owner, successor):
                if rng.random() < 0.3:
                    teller.outcome(event, subscription, rng.choice(REASONS), at_ms=at_ms + 50)
    for peer, subscription in claims + rng.sample(wanted, rng.randrange(2)):
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            altered: dict[str, Any] = {} if rng.random() < 0.9 else {"digest": b"another"}
            late_ms = rng.choice([0, 0, 0, 61_000])
            handing = peer if rng.random() < 0.95 else rng.choice(peers)
            handing.deliver(event, subscription, at_ms=at_ms + rng.expovariate(1 / 40) - 1 + late_ms, **altered)
    if rng.random() < 0.2:
        owner.duplicate(rng.choice(["publish_repeated", "parcel_repeated"]), count=rng.choice([None, 4]))
        publisher.untraced(rng.choice([Kind.PUBLISH, Kind.DELIVER]), rng.randrange(1, 64))


def _plant_cast(rng: Random, peers: list[Process], at_ms: int) -> None:
    root = rng.choice(peers)
    cast = root.cast(rng.choice(["ChangePayload", "EventPayload"]), at_ms=at_ms)
    for hops, peer in enumerate(rng.sample(peers, rng.randrange(5)), 1):
        for tries in range(rng.choice([1, 1, 2])):
            root.forward(cast, peer, format(hops, "b"), tries=tries + 1, at_ms=at_ms + tries)
        if rng.random() < 0.9:
            peer.receive(cast, root, format(hops, "b"), hops=hops, at_ms=at_ms + rng.random() * 9)
        if rng.random() < 0.2:
            peer.duplicate("cast_repeated", cast=cast, peer=root.node, prefix=format(hops, "b"), at_ms=at_ms + 9)


def _plant_change(rng: Random, peers: list[Process], wanted: list[tuple[Process, SubscriptionId]], at_ms: int) -> None:
    root, peer = rng.choice(peers[:3]), rng.choice(peers)
    number = root.number(rng.choice(wanted)[1], rng.randrange(15), at_ms=at_ms)
    for _ in range(rng.choice([1, 1, 2])):
        peer.record(Kind.CHANGE, number=number, cluster=peer.cluster)
    peer.record(Kind.TABLE, epoch=root.epoch, version=rng.randrange(3), owners=rng.choice([4, 4, 5]))
    peer.drop(rng.choice(["ended", "link_lost", ""]))


def plain(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """In one order, with floats that two machines agree on."""
    rounded = [tuple(round(float(v), 6) if isinstance(v, int | float) else v for v in row) for row in rows]
    return sorted(rounded, key=repr)


def synthetic(spark: SparkSession, directory: Path) -> Tables:
    """The trace of the benchmark, small."""
    rows = write_trace(directory, 2_000)
    records = spark.read.schema(RECORDS).parquet(str(directory / "records")).select(*RECORDS.names)
    assert (rows, records.where("node is null or wall_us is null").count()) == (records.count(), 0)
    others = (spark.read.parquet(str(directory / name)) for name in ("processes", "nodes"))
    return Tables(records, *others)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_duckdb_comes_to_the_same_figures(spark: SparkSession, tmp_path: Path, seed: int | None) -> None:
    """Every answer, column by column, and every finding; the answers also on the trace that the benchmark measures."""
    tables = synthetic(spark, tmp_path) if seed is None else wild_trace(seed).tables(spark)
    connection = second_opinion(tables)
    for name, query in QUERIES.items():
        theirs = connection.execute(query)
        names = [column[0] for column in theirs.description]
        ours: DataFrame = QUESTIONS[name](tables).select(*names)
        found = plain([tuple(row) for row in ours.collect()])
        assert found == plain(theirs.fetchall()), name
        assert found, name
    if seed is not None:
        audited = audited_by_duckdb(tables)
        for name, rows in audited_by_spark(tables).items():
            assert compared(rows) == audited[name], name
        kinds = {row[:2] for rows in audited.values() for row in rows}
        assert {invariant for invariant, _ in kinds} >= {"S1", "S2", "S3", "S4", "S5", "S8", "S11", "S13", "liveness"}
        assert {verdict for _, verdict in kinds} == {"violated", "unknown"}
    spark.catalog.clearCache()
