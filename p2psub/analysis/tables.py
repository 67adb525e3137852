"""The three tables of compacted traces, as every question takes them."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.schemas import KEY_BITS
from p2psub.model.records import Kind


class Tables(NamedTuple):
    """Traces, compacted: see `schemas`."""

    records: DataFrame
    processes: DataFrame
    nodes: DataFrame

    def of(self, *kinds: Kind) -> DataFrame:
        """The records of some kinds."""
        return self.records.where(F.col("kind").isin([kind.value for kind in kinds]))


def process_of(key: Column) -> Column:
    """The process that gave an event, a subscription or a cast its name."""
    return F.shiftright(key, KEY_BITS).cast("int")
