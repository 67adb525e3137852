"""When the overlay was in parts, by what super-nodes wrote: what was said then speaks for one part alone.

    two terms of one cluster    each side of a cut ring has its own super-node
    a cluster is given up        by the directory of another, while it has a super-node all the same

A cut that is over sooner shows nowhere: no member took another for gone.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.settings import Settings
from p2psub.analysis.tables import Tables
from p2psub.analysis.terms import terms
from p2psub.model.places import Standing
from p2psub.model.records import Kind

NOTICING_BEATS: Final = 8
"""How long before a second term began the ring may have been cut already: a failover takes as long."""
GIVING_UP_BEATS: Final = 60
"""How long a cluster is silent before it is given up (`CubeConfig.lost_after_ticks`)."""
MENDING_BEATS: Final = 20
"""How long after it was over all changes are everywhere: a ring is ideal again after as long."""
PASSING_BEATS: Final = 3
"""As long may a directory be ahead of a super-node that gives its cluster up itself."""


class Partition(NamedTuple):
    """The overlay may be in parts from the first instant on, and is whole again at the second."""

    from_us: int
    until_us: int


def partitions(tables: Tables, settings: Settings) -> list[Partition]:
    """All of them in order, none touching another. Collected: terms and clusters that are given up are few."""
    found = [*_of_terms(tables, settings), *_of_directories(tables, settings)]
    united: list[Partition] = []
    for partition in sorted(found):
        if united and partition.from_us <= united[-1].until_us:
            united[-1] = Partition(united[-1].from_us, max(united[-1].until_us, partition.until_us))
        else:
            united.append(partition)
    return united


def whole_again(partitions: list[Partition], at_us: int) -> int:
    """From when on something said at an instant holds for the whole overlay: at once, or when it is in one part."""
    return next((until_us for from_us, until_us in partitions if from_us <= at_us < until_us), at_us)


def with_whole_again(frame: DataFrame, partitions: list[Partition], at_us: Column) -> DataFrame:
    """The same as a column `whole_again_us`, which is empty where the overlay was whole."""
    if not partitions:
        return frame.withColumn("whole_again_us", F.lit(None).cast("long"))
    spans = frame.sparkSession.createDataFrame(partitions, "_from_us long, whole_again_us long")
    is_inside = (F.col("_from_us") <= at_us) & (at_us < F.col("whole_again_us"))
    return frame.join(F.broadcast(spans), is_inside, "left").drop("_from_us")


def _of_terms(tables: Tables, settings: Settings) -> list[Partition]:
    spans: dict[str, list[tuple[int, int]]] = {}
    for row in terms(tables).collect():
        spans.setdefault(row.cluster, []).append((row.began_us, row.ended_us))
    found: list[Partition] = []
    for several in spans.values():
        until_us = 0
        for began_us, ended_us in sorted(several):
            if began_us < min(until_us, ended_us):
                mended_us = min(until_us, ended_us) + settings.beats(MENDING_BEATS)
                found.append(Partition(began_us - settings.beats(NOTICING_BEATS), mended_us))
            until_us = max(until_us, ended_us)
    return found


def _of_directories(tables: Tables, settings: Settings) -> list[Partition]:
    told = tables.of(Kind.DIRECTORY).join(F.broadcast(tables.processes.select("process", "last_us")), "process")
    own = Window.partitionBy("process", "cluster").orderBy("sequence")
    told = told.withColumn("next_us", F.coalesce(F.lead("wall_us").over(own), F.col("last_us")))
    given_up = told.where(F.col("standing") != Standing.PRESENT.value)
    led = terms(tables).select("cluster", "began_us", "ended_us")
    from_us, until_us = F.greatest("wall_us", "began_us"), F.least("next_us", "ended_us")
    both = given_up.join(F.broadcast(led), "cluster").select(from_us.alias("from_us"), until_us.alias("until_us"))
    both = both.where(F.col("until_us") - F.col("from_us") > settings.beats(PASSING_BEATS)).distinct()
    earlier_us = settings.beats(GIVING_UP_BEATS + NOTICING_BEATS)
    mending_us = settings.beats(MENDING_BEATS)
    return [Partition(row.from_us - earlier_us, row.until_us + mending_us) for row in both.collect()]
