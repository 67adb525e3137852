"""Who should have got an event, found out anew from the trace: the plainest matcher over what was published.

Neither owners nor their indexes are believed: what was published is tried against the filter of every subscription that
was ever asked for or numbered, by `p2psub.matching.linear`. An event whose `publish` is not in the trace has no content
here and is in no pair: what it owed is judged by counts. The register of subscriptions
goes to every worker, by the topics they pin; events stay where they are. It is the one place of the analysis where
rows pass through Python.

A pair (event, subscription) is

    owed      the event was acknowledged, and by the vector it was stored under the subscription was active: the highest
              version that the vector holds is. A subscriber that had given up before is owed nothing.
    stable    the event was published after the subscription's verdict `stable`, and acknowledged before its end.
              While the overlay is in parts a verdict speaks for one of them alone; it counts from when they are one
              again (docs/promises.md).
    wanted    the filter takes the event.

Rows are the owed, the stable, and all that were delivered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it
from pyspark.sql.types import BooleanType, LongType, StructField, StructType

from p2psub.analysis.answers.latency import is_stable
from p2psub.analysis.debts import acknowledged
from p2psub.analysis.partitions import Partition, partitions, whole_again
from p2psub.analysis.schemas import KEY_BITS
from p2psub.analysis.settings import Settings
from p2psub.analysis.tables import Tables
from p2psub.matching.predicates import CompiledFilter, compile_filter, content_of, satisfies
from p2psub.model.changes import ChangeNumber, LogId, Vector
from p2psub.model.content import DeclarationState, Event, Guarantee, Subscription, pinned_topics
from p2psub.model.records import Kind
from p2psub.traces.segments import decode_part

PAIRS: Final = StructType(
    [
        StructField("event", LongType()),
        StructField("subscription", LongType()),
        StructField("is_owed", BooleanType()),
        StructField("is_stable", BooleanType()),
        StructField("is_wanted", BooleanType()),
        StructField("over_us", LongType()),  # when the subscription was given up, or its process ended
    ]
)


class Numbered(NamedTuple):
    """One numbered change of a subscription."""

    stream: LogId
    n: int
    version: int
    is_active: bool


class Wanted(NamedTuple):
    """A subscription as the trace knows it; times are empty where it says nothing."""

    key: int
    subscribed: str
    changes: tuple[Numbered, ...]
    stable_us: int | None
    over_us: int | None
    given_up_us: int | None


def rematch(tables: Tables, acks: DataFrame | None = None, known: list[Partition] | None = None) -> DataFrame:
    """All pairs that are owed, stable or delivered: see `PAIRS`. Worth keeping: several audits ask for it.

    `acks` is `debts.acknowledged`, if it was kept; `known` are the `partitions`.
    """
    apart = partitions(tables, Settings.of(tables)) if known is None else known
    register = tables.records.sparkSession.sparkContext.broadcast(read_register(tables, apart))

    def match(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = Rematcher(register.value)
        for batch in batches:
            yield _as_batch([pair for row in batch.to_pylist() for pair in matcher.pairs(row)])

    return _events(tables, acks).mapInArrow(match, PAIRS)


def _events(tables: Tables, acks: DataFrame | None) -> DataFrame:
    """Every event with its body, the storing behind its acknowledgement, and whom it was handed to."""
    published = tables.of(Kind.PUBLISH).where(F.col("event").isNotNull())
    bodies = published.select("event", F.col("wall_us").alias("published_us"), "published")
    behind = (acknowledged(tables) if acks is None else acks).select(
        "event", "acked_us", "stored_us", "process", "sequence"
    )
    stored = tables.of(Kind.STORE).select("event", "process", "sequence", "vector")
    delivered = tables.of(Kind.DELIVER).where(F.col("event").isNotNull())
    handed = delivered.groupBy("event").agg(F.collect_set("subscription").alias("delivered"))
    known = bodies.where(F.col("published").isNotNull()).join(behind, "event", "left")
    whole = known.join(stored, ["event", "process", "sequence"], "left").join(handed, "event", "left")
    return whole.select("event", "vector", "published_us", "acked_us", "stored_us", "delivered", "published")


def _as_batch(pairs: list[tuple[Any, ...]]) -> pa.RecordBatch:
    kinds = {"long": pa.int64(), "boolean": pa.bool_()}
    columns = zip(*pairs, strict=True) if pairs else ([] for _ in PAIRS.fields)
    arrays = [
        pa.array(list(column), kinds[field.dataType.typeName()])
        for column, field in zip(columns, PAIRS.fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=PAIRS.fieldNames())


class Rematcher:
    """The register at one worker, with its filters compiled."""

    def __init__(self, register: list[Wanted]) -> None:
        self._by_key: dict[int, tuple[Wanted, CompiledFilter]] = {}
        self._by_topic: dict[str, list[int]] = {}
        self._open: list[int] = []
        for wanted in register:
            filter_ = decode_part(wanted.subscribed, Subscription).filter
            self._by_key[wanted.key] = (wanted, compile_filter(filter_))
            topics = pinned_topics(filter_)
            for topic in topics:
                self._by_topic.setdefault(topic, []).append(wanted.key)
            if not topics:
                self._open.append(wanted.key)

    def pairs(self, row: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        """The pairs of one event."""
        event = decode_part(row["published"], Event)
        content = content_of(event)
        candidates = dict.fromkeys([*self._by_topic.get(event.topic, ()), *self._open])
        delivered = set(row["delivered"] or ())
        # Also what was handed to a subscription that pins another topic must be looked at.
        candidates.update(dict.fromkeys(sorted(delivered & self._by_key.keys())))
        promised = event.guarantee is Guarantee.EFFECTIVELY_ONCE and row["stored_us"] is not None
        for key in candidates:
            wanted, filter_ = self._by_key[key]
            takes = bool(satisfies(content, filter_))
            is_owed = takes and promised and _is_owed(wanted, row["vector"], row["stored_us"])
            was_stable = takes and promised and _was_stable(wanted, row["published_us"], row["acked_us"])
            if is_owed or was_stable or key in delivered:
                yield (row["event"], key, is_owed, was_stable, takes, wanted.over_us)


def _is_owed(wanted: Wanted, vector: str | None, stored_us: int) -> bool:
    # An owner may know of an end beyond its contiguous vector.
    if wanted.given_up_us is not None and wanted.given_up_us < stored_us:
        return False
    held = _numbers_of(vector or "[]")
    known = [(change.version, change.is_active) for change in wanted.changes if change.n <= held.get(change.stream, 0)]
    return bool(known) and max(known)[1]


def _was_stable(wanted: Wanted, published_us: int | None, acked_us: int) -> bool:
    # Without the record of its numbering vectors do not tell who knew of it.
    if not wanted.changes or wanted.stable_us is None or published_us is None or published_us <= wanted.stable_us:
        return False
    return wanted.over_us is None or acked_us < wanted.over_us


@lru_cache(maxsize=1 << 12)
def _numbers_of(vector: str) -> dict[LogId, int]:
    return dict(decode_part(vector, Vector))


def read_register(tables: Tables, partitions: list[Partition]) -> list[Wanted]:
    """All subscriptions of a trace, collected: they are few beside what happens to them."""
    asked = tables.of(Kind.SUBSCRIBE, Kind.NUMBER).where(F.col("subscribed").isNotNull())
    texts: dict[int, str] = {}
    changes: dict[int, list[Numbered]] = {}
    for row in asked.select("subscription", "subscribed", "change", "subscribed_version", "state").toLocalIterator():
        texts.setdefault(row.subscription, row.subscribed)
        if row.change is not None:
            number = decode_part(row.change, ChangeNumber)
            is_active = row.state == DeclarationState.ACTIVE.value
            numbered = Numbered(number.log, number.n, row.subscribed_version, is_active)
            changes.setdefault(row.subscription, []).append(numbered)
    stable = tables.of(Kind.VERDICT).where(is_stable())
    stable_us = {key: whole_again(partitions, at_us) for key, at_us in _first(stable).items()}
    given_up_us = _first(tables.of(Kind.UNSUBSCRIBE))
    ended_us = {row.process: row.last_us for row in tables.processes.select("process", "last_us").toLocalIterator()}
    register: list[Wanted] = []
    for key, text in sorted(texts.items()):
        ends = [at_us for at_us in (given_up_us.get(key), ended_us.get(key >> KEY_BITS)) if at_us is not None]
        own = tuple(changes.get(key, ()))
        over_us = min(ends, default=None)
        register.append(Wanted(key, text, own, stable_us.get(key), over_us, given_up_us.get(key)))
    return register


def _first(records: DataFrame) -> dict[int, int]:
    """When each subscription first had one of these records."""
    first = records.groupBy("subscription").agg(F.min("wall_us").alias("at_us"))
    return {row.subscription: row.at_us for row in first.toLocalIterator() if row.subscription is not None}
