"""When the overlay was in parts, what was said and done in one of them is not held against the others."""

from __future__ import annotations

from pyspark.sql import SparkSession

from p2psub.analysis.audits import broadcasts, liveness
from p2psub.analysis.partitions import (
    GIVING_UP_BEATS,
    MENDING_BEATS,
    NOTICING_BEATS,
    Partition,
    partitions,
    whole_again,
)
from p2psub.analysis.settings import Settings
from p2psub.analysis.tables import Tables
from p2psub.model.places import Standing
from tests.analysis.planted_trace import BEGIN_US, PlantedTrace

S = 1_000
"""Milliseconds in a second."""


def parted_cube() -> PlantedTrace:
    """Two clusters give each other up from 100 s to 200 s, and each broadcasts to itself meanwhile.

    An event from before is handed over when they are one again, to a subscription that was stable all the time.
    """
    trace = PlantedTrace()
    home, away = (trace.process(name, cluster=name, at_ms=0) for name in ("home", "away"))
    for peer, other in ((home, away), (away, home)):
        peer.ring(at_ms=1)
        peer.role(at_ms=2)
        peer.directory(other, "1", version=1, at_ms=3)
    wanted = away.subscribe(at_ms=5 * S)
    away.verdict(wanted, at_ms=6 * S)
    for peer, other in ((home, away), (away, home)):
        peer.directory(other, "1", standing=Standing.LOST, version=1, at_ms=100 * S)
    event = home.publish(at_ms=110 * S)
    home.store(event, owed=1)
    home.acknowledge(event, count=1)
    home.cast(at_ms=150 * S)
    for peer, other in ((home, away), (away, home)):
        peer.directory(other, "1", version=1, at_ms=200 * S)
    away.deliver(event, wanted, at_ms=201 * S)
    home.discharge(event, at_ms=202 * S)
    for peer in (home, away):
        peer.close(at_ms=400 * S)
    return trace


def span(begin_s: int, end_s: int) -> Partition:
    """With the time to notice before it and to mend after it."""
    return Partition(BEGIN_US + begin_s * S * S, BEGIN_US + (end_s + MENDING_BEATS) * S * S)


def found(tables: Tables) -> list[Partition]:
    """Of peers that beat every second."""
    return partitions(tables, Settings())


def test_a_cluster_that_is_given_up_and_rules_on_parts_the_overlay(spark: SparkSession) -> None:
    """Nobody is accused of a broadcast to one part, nor of what could not be delivered meanwhile."""
    tables = parted_cube().tables(spark)
    assert found(tables) == [span(100 - GIVING_UP_BEATS - NOTICING_BEATS, 200)]
    assert broadcasts.audit(tables).collect() == []
    assert [(row.invariant, row.verdict) for row in liveness.audit(tables).collect()] == [("liveness", "unknown")]


def test_a_cluster_that_is_given_up_because_it_gave_up_parts_nothing(spark: SparkSession) -> None:
    """Its term ended, or ends within the time that a word takes."""
    trace = PlantedTrace()
    home, away = (trace.process(name, cluster=name, at_ms=0) for name in ("home", "away"))
    for peer in (home, away):
        peer.role(at_ms=1)
    home.directory(away, "1", standing=Standing.LOST, version=2, at_ms=10 * S)
    away.role("abdicated", at_ms=11 * S)
    for peer in (home, away):
        peer.close(at_ms=90 * S)
    assert found(trace.tables(spark)) == []


def test_two_terms_of_a_cluster_part_it_and_partings_that_touch_are_one(spark: SparkSession) -> None:
    """The second begins before the first has ended; a third one right after."""
    trace = PlantedTrace()
    one, two, three = (trace.process(name, at_ms=0) for name in ("one", "two", "three"))
    one.role(at_ms=1)
    two.role(at_ms=50 * S)
    one.role("deposed", at_ms=60 * S)
    three.role(at_ms=70 * S)
    two.role("deposed", at_ms=80 * S)
    for peer in (one, two, three):
        peer.close(at_ms=200 * S)
    partitions = found(trace.tables(spark))
    assert partitions == [span(50 - NOTICING_BEATS, 80)]
    ((from_us, until_us),) = partitions
    assert [whole_again(partitions, at_us) for at_us in (from_us - 1, from_us, until_us - 1, until_us)] == [
        from_us - 1,
        until_us,
        until_us,
        until_us,
    ]
