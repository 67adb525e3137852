"""What pairs earned, by pairs; and the audits of time and of books: what was planted is found, by DuckDB as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from p2psub.analysis.answers.earnings import earnings
from p2psub.analysis.audit_context import NO_CONTEXT
from p2psub.analysis.audits.catalogue import AUDITS
from p2psub.analysis.benchmark.audit_queries import AUDIT_QUERIES, COLUMNS
from p2psub.analysis.benchmark.ground import GROUND
from p2psub.analysis.benchmark.queries import QUERIES
from p2psub.analysis.compaction import compact
from p2psub.analysis.figures import figures
from p2psub.analysis.tables import Tables
from p2psub.model.bids import PRICE_ONE, Bid
from p2psub.model.content import Guarantee
from p2psub.model.reasons import Reason
from tests.analysis.opinions import compared, second_opinion
from tests.analysis.planted_trace import PlantedTrace

LIMIT_US = 5_000_000
PRICE, PENALTY = 3 * PRICE_ONE, PRICE_ONE // 2
BID = Bid(LIMIT_US, PRICE, PENALTY)
LATE_US = LIMIT_US + 1
EXPIRED: dict[str, Any] = {"reason": Reason.DEADLINE, "age_us": LATE_US, "earned": -PENALTY}


def shop() -> PlantedTrace:
    """Dan bids and Eve does not; Bob owns, and Cid owns after him. Everything is as it should be."""
    trace = PlantedTrace()
    ann, bob, cid, dan, eve = (trace.process(name) for name in ("ann", "bob", "cid", "dan", "eve"))
    bidding, plain = dan.subscribe(bid=BID), eve.subscribe()
    in_time, late, doubled, full = (ann.publish() for _ in range(4))
    dan.deliver(in_time, bidding, age_us=7, earned=PRICE)
    eve.deliver(in_time, plain, age_us=9)
    bob.outcome(in_time, bidding, age_us=8, earned=PRICE)
    bob.outcome(in_time, plain, age_us=12)
    bob.outcome(late, bidding, "expired", **EXPIRED)
    bob.outcome(full, bidding, "expired", reason=Reason.CHANNEL_FULL, age_us=LATE_US)
    # Handed over; the answer came to Bob, who fell, and Cid gave up.
    dan.deliver(doubled, bidding, age_us=30, earned=PRICE)
    bob.outcome(doubled, bidding, age_us=31, earned=PRICE)
    cid.outcome(doubled, bidding, "expired", **EXPIRED)
    cid.outcome(late, bidding, "hopeless", reason=Reason.HOPELESS, age_us=LATE_US - 9, earned=-PENALTY)
    bob.book(on_time=3, earned=2 * PRICE + PRICE_ONE, penalties=PENALTY, expired=2)
    cid.book(expired=2, penalties=2 * PENALTY)
    straight = ann.publish(guarantee=Guarantee.AT_MOST_ONCE)
    dan.deliver(straight, bidding, age_us=2, earned=PRICE, guarantee=Guarantee.AT_MOST_ONCE)
    for process in trace.processes:
        process.close()
    return trace


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """All of them, in order."""
    return sorted(map(tuple, frame.collect()), key=repr)


SHOP = [
    ("expired", "channel_full", 1, 0.0, 0.0, LATE_US),
    ("hopeless", "hopeless", 1, 0.0, 0.5, LATE_US),
    ("on_time", None, 3, 7.0, 0.0, 30),
]


def test_each_pair_earns_once_however_many_owners_settled_it(spark: SparkSession) -> None:
    """Handed over counts before all else, of two ends one; DuckDB says the same. At most once is not among them."""
    tables = shop().tables(spark)
    assert rows(earnings(tables)) == SHOP
    with second_opinion(tables) as connection:
        assert sorted(connection.execute(QUERIES["earnings"]).fetchall(), key=repr) == SHOP
    found = figures(tables)
    assert (found.on_time, found.expired, found.hopeless, found.earned, found.penalties) == (3, 1, 1, 7.0, 0.5)


def test_segments_say_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """Ages, amounts, bids and books come through files as they are."""
    trace = shop()
    trace.write(tmp_path / "traces")
    tables = compact(spark, [tmp_path / "traces"], tmp_path / "tables").tables
    assert rows(earnings(tables)) == SHOP
    assert findings(tables) == []
    columns = ["kind", "age_us", "earned", "timeout_us", "is_replayed", "deadline_us", "price", "penalty"]
    columns += ["booked_on_time", "booked_expired", "booked_earned", "booked_penalties"]
    read, planted = (one.records.select(*columns) for one in (tables, trace.tables(spark)))
    assert rows(read) == rows(planted)


def findings(tables: Tables) -> list[tuple[Any, ...]]:
    """What both audits find, promise and verdict alone; DuckDB finds the same records."""
    mine = {audit.name: audit for audit in AUDITS}
    found: list[tuple[Any, ...]] = []
    with second_opinion(tables) as connection:
        for statement in GROUND:
            connection.execute(statement)
        columns = ", ".join(f'"{name}"' for name in COLUMNS)
        for name in ("lateness", "books"):
            ours = compared(mine[name].find(tables, NO_CONTEXT).collect())
            theirs = connection.execute(f"select {columns} from ({AUDIT_QUERIES[name]})").fetchall()
            assert sorted(theirs, key=repr) == ours
            found += [(one[0], one[1]) for one in ours]
    return sorted(found)


def test_wrong_times_are_found(spark: SparkSession) -> None:
    """S18: ended without a limit or before its time; handed over after deadline or timeout; replays have none."""
    trace = PlantedTrace()
    ann, bob, dan = (trace.process(name) for name in ("ann", "bob", "dan"))
    bidding, plain, late_comer = dan.subscribe(bid=BID), dan.subscribe(), dan.subscribe(bid=BID, replay=True)
    event, timed = ann.publish(), ann.publish(timeout_us=LIMIT_US)
    retained = ann.publish(retain_us=LIMIT_US * 9)
    bob.outcome(event, bidding, "expired", **EXPIRED)
    bob.outcome(timed, plain, "expired", age_us=LATE_US)
    bob.outcome(event, late_comer, "hopeless", age_us=1, earned=-PENALTY)
    dan.deliver(retained, late_comer, age_us=LATE_US, earned=PRICE)
    dan.deliver(timed, bidding, age_us=LIMIT_US, earned=PRICE)
    for process in trace.processes:
        process.close()
    assert findings(trace.tables(spark)) == []
    bob.outcome(event, plain, "expired", age_us=LATE_US)
    bob.outcome(timed, bidding, "expired", age_us=LIMIT_US // 2, earned=-PENALTY)
    dan.deliver(event, bidding, age_us=LATE_US, earned=PRICE)
    dan.deliver(timed, plain, age_us=LATE_US)
    assert findings(trace.tables(spark)) == [("S18", "violated")] * 4


def test_what_rests_on_a_record_that_is_not_there_is_unknown(spark: SparkSession) -> None:
    """The publisher's timeout may be in it."""
    trace = PlantedTrace()
    ann, bob, dan = (trace.process(name) for name in ("ann", "bob", "dan"))
    plain, event = dan.subscribe(), ann.publish()
    bob.outcome(event, plain, "expired", age_us=9)
    ann.records.pop()
    assert findings(trace.tables(spark)) == [("S18", "unknown")]


@pytest.mark.parametrize("is_holed", [False, True])
def test_wrong_books_are_found(spark: SparkSession, *, is_holed: bool) -> None:
    """S19: a pair that counts twice; unknown if a record of the process is missing, which may speak of another pair."""
    trace = PlantedTrace()
    ann, bob, dan = (trace.process(name) for name in ("ann", "bob", "dan"))
    bidding, event = dan.subscribe(bid=BID), ann.publish()
    bob.store(event, owed=1)
    if is_holed:
        bob.lose()
    bob.outcome(event, bidding, age_us=1, earned=PRICE)
    bob.outcome(event, bidding, age_us=1, earned=PRICE)
    bob.book(on_time=2, earned=2 * PRICE)
    assert findings(trace.tables(spark)) == [("S19", "unknown" if is_holed else "violated")]
    bob.store(event, owed=1)
    assert findings(trace.tables(spark)) == []


def test_amounts_that_nobody_bid_are_found(spark: SparkSession) -> None:
    """S19: another price, another penalty."""
    trace = PlantedTrace()
    ann, bob, dan = (trace.process(name) for name in ("ann", "bob", "dan"))
    bidding, one, other = dan.subscribe(bid=BID), ann.publish(), ann.publish()
    bob.outcome(one, bidding, age_us=1, earned=PRICE + 1)
    bob.outcome(other, bidding, "expired", **(EXPIRED | {"earned": 0}))
    assert findings(trace.tables(spark)) == [("S19", "violated")] * 2
