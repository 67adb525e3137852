"""Which storing an acknowledgement speaks of, how much it owes, and what pays it: alike for answers and audits."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from pyspark.sql import SparkSession

from p2psub.analysis.answers.coverage import coverage
from p2psub.analysis.audit_context import AuditContext
from p2psub.analysis.audits import losses
from p2psub.analysis.debts import acknowledged
from p2psub.analysis.silent_spans import SilentSpans
from p2psub.analysis.tables import Tables
from p2psub.model.ids import EventId
from p2psub.model.instants import Stamp
from tests.analysis.planted_trace import BEGIN_US, PlantedTrace
from tests.analysis.rows import Numbers


class Debt(NamedTuple):
    """What must be known of an event: by whom it was stored, how many are owed, what is lost or still owed."""

    stored_by: str | None
    owed: int
    lost: int = 0
    still_owed: int = 0
    ended: int = 0


class Ledger:
    """Events that two owners store, one after the other."""

    def __init__(self) -> None:
        self.trace = PlantedTrace()
        self.alice, self.owner, self.successor, self.bob = (
            self.trace.process(name, at_ms=0) for name in ("alice", "owner", "successor", "bob")
        )
        self.wanted = self.bob.subscribe(at_ms=1)
        self.bob.verdict(self.wanted, at_ms=2)
        self.unanswered = self.bob.subscribe(at_ms=3)
        self.debts: dict[EventId, Debt] = {}
        self._now_ms = 100.0

    def event(self, debt: Debt) -> EventId:
        self._now_ms += 100
        event = self.alice.publish(at_ms=self._now_ms)
        self.debts[event] = debt
        return event

    def plant(self) -> PlantedTrace:
        self._plant_storings()
        self._plant_clocks()
        self._plant_ends()
        for process in (self.alice, self.owner, self.successor, self.bob):
            process.close(at_ms=self._now_ms + 100)
        return self.trace

    def _plant_storings(self) -> None:
        alice, owner, successor = self.alice, self.owner, self.successor
        event = self.event(Debt("owner", 1, still_owed=1))  # the peer it names
        owner.store(event, owed=1)
        successor.store(event, owed=2)
        alice.acknowledge(event, count=2, peer=owner.node)
        event = self.event(Debt("successor", 2, still_owed=2))  # else the last before it, whatever it repeats
        owner.store(event, owed=3)
        successor.store(event, owed=2)
        alice.acknowledge(event, count=3)
        event = self.event(Debt("owner", 1, still_owed=1))  # the first acknowledgement, and no later storing
        owner.store(event, owed=1)
        alice.acknowledge(event, count=1)
        successor.store(event, owed=4)
        alice.acknowledge(event, count=4)
        event = self.event(Debt("owner", 2, still_owed=2))  # a name that stored it too late is no help
        owner.store(event, owed=2)
        alice.acknowledge(event, count=1, peer=successor.node)
        successor.store(event, owed=1)
        event = self.event(Debt(None, 3, still_owed=3))  # nobody stored it: what the acknowledgement repeats
        alice.acknowledge(event, count=3)
        successor.store(event, owed=1)
        successor.discharge(event, count=1)

    def _plant_clocks(self) -> None:
        """Within one microsecond the ticks say what was before."""
        alice, owner, successor = self.alice, self.owner, self.successor
        event = self.event(Debt("owner", 1, still_owed=1))
        owner.store(event, owed=1)
        successor.store(event, owed=2)
        alice.acknowledge(event, count=2)
        at_us = BEGIN_US + round(self._now_ms * 1_000) + 5
        for process, ticks in ((owner, 2), (alice, 2), (successor, 3)):
            process.records[-1] = msgspec.structs.replace(process.records[-1], stamp=Stamp(at_us, ticks))

    def _plant_ends(self) -> None:
        alice, owner, successor, bob = self.alice, self.owner, self.successor, self.bob
        event = self.event(Debt("successor", 2, still_owed=2))  # an owed event with other matches is another debt
        owner.store(event, owed=1)
        successor.store(event, owed=2)
        alice.acknowledge(event, count=2)
        owner.discharge(event, count=1)
        event = self.event(Debt("owner", 2, lost=2))  # what is deferred is no end, nor that somebody says `delivered`
        owner.store(event, owed=2)
        alice.acknowledge(event, count=2)
        owner.outcome(event, self.wanted, "deferred")
        owner.outcome(event, self.wanted)
        owner.discharge(event, count=2)
        event = self.event(Debt("owner", 3, lost=1, ended=2))  # held back for want of a verdict, and expired
        owner.store(event, owed=3)
        alice.acknowledge(event, count=3)
        owner.outcome(event, self.unanswered)
        successor.outcome(event, self.unanswered)
        owner.outcome(event, self.wanted, "expired")
        owner.discharge(event, count=3)
        event = self.event(Debt("successor", 1))
        owner.store(event, owed=1)
        bob.deliver(event, self.wanted)
        successor.store(event, owed=1)
        alice.acknowledge(event, count=1)
        successor.discharge(event, count=1)


def test_answers_and_audits_owe_the_same(spark: SparkSession) -> None:
    """Every debt is what was planted, in the answer about coverage as in the audit of losses."""
    ledger = Ledger()
    trace = ledger.plant()
    tables = Tables(*(frame.coalesce(1).persist() for frame in trace.tables(spark)))
    acks = acknowledged(tables).persist()
    numbers = Numbers.of(trace.records)
    owners = {"owner": ledger.owner, "successor": ledger.successor}
    name = {numbers.processes[one.node, 1]: text for text, one in owners.items()}
    stored = {row.event: (name.get(row.process), row.owed) for row in acks.collect()}
    context = AuditContext(acks=acks, silent_spans=SilentSpans.of(tables))
    covered = {row.event: row for row in coverage(tables, context).collect()}
    found = {
        event: Debt(*stored[key], covered[key].lost, covered[key].still_owed, covered[key].ended)
        for event in ledger.debts
        if (key := numbers.key(event)) is not None
    }
    assert found == ledger.debts
    assert all(covered[key].expected == owed for key, (_, owed) in stored.items())
    alone = {row.event: row for row in coverage(tables).collect()}
    assert alone == covered
    lost = {numbers.key(event) for event, debt in ledger.debts.items() if debt.lost}
    assert {row.event: row.verdict for row in losses.audit(tables, context).collect()} == dict.fromkeys(
        lost, "violated"
    )
    spark.catalog.clearCache()


def test_what_was_handed_over_before_the_last_storing_may_be_hidden_too(spark: SparkSession) -> None:
    """The first owner may have paid before its successor stored the event, and Bob lacks records from then."""
    trace = PlantedTrace()
    alice, owner, successor, bob = (trace.process(name, at_ms=0) for name in ("alice", "owner", "successor", "bob"))
    event = alice.publish(at_ms=10)
    owner.store(event, owed=1, at_ms=11)
    bob.lose()
    bob.close(at_ms=20)
    successor.store(event, owed=1, at_ms=30)
    alice.acknowledge(event, count=1, at_ms=40)
    successor.discharge(event, at_ms=50)
    for process in (alice, owner, successor):
        process.close(at_ms=60)
    tables = trace.tables(spark)
    assert [(row.lost, row.unknown) for row in coverage(tables).collect()] == [(0, 1)]
    assert [row.verdict for row in losses.audit(tables).collect()] == ["unknown"]
