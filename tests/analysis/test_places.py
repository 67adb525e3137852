"""Where clusters stand, and who led them, as a planted trace tells it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from p2psub.analysis.answers.places import places
from p2psub.analysis.headline import count_failovers
from p2psub.analysis.terms import terms
from p2psub.model.ids import Epoch
from p2psub.model.places import Standing
from tests.analysis.planted_trace import PlantedTrace, node_of


def test_a_place_is_the_newest_that_any_directory_has(spark: SparkSession) -> None:
    """Whatever the order in which peers heard of it; the super-node is that of the highest epoch."""
    trace = PlantedTrace()
    ann, bob = trace.process("ann", cluster="home"), trace.process("bob", cluster="away")
    bob.directory(ann, "0", version=2, epoch=Epoch(2, node_of("cid"), 1), at_ms=5)
    ann.directory(ann, "", version=1, at_ms=9)
    ann.directory(bob, "1", version=2, at_ms=10)
    ann.directory(bob, "1", standing=Standing.LOST, version=3, at_ms=20)
    tables = trace.tables(spark)
    found = places(tables).join(tables.nodes, "node").orderBy("cluster").collect()
    assert [(row.cluster, row.prefix, row.standing, row.version, row.id) for row in found] == [
        ("away", "1", "lost", 3, bob.node.hex()),
        ("home", "0", "present", 2, node_of("cid").hex()),
    ]


def test_only_another_peer_in_a_later_epoch_is_a_failover(spark: SparkSession) -> None:
    """Bob follows Ann, and Ann follows Bob. That Bob had founded the cluster too, or that Ann rules anew, is none."""
    trace = PlantedTrace()
    ann, bob = (trace.process(name, at_ms=0) for name in ("ann", "bob"))
    ann.role(at_ms=10)
    bob.role(at_ms=11)
    bob.role("resigned", at_ms=20)
    bob.role(epoch=Epoch(2, bob.node, 1), at_ms=60)
    ann.role(epoch=Epoch(3, ann.node, 1), at_ms=80)
    ann.role(epoch=Epoch(4, ann.node, 1), at_ms=90)
    assert count_failovers(terms(trace.tables(spark))) == 2
