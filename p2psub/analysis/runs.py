"""Runs, taken apart once: behind this every row speaks of one event, and questions need not know what a run is.

A narrow step: each row becomes its events where it is, and nothing is sorted or handed on. All rows of a run have the
number and the stamp of their record; their `place` tells them apart.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.schemas import RECORDS
from p2psub.model.seals import LEAF_BYTES

IS_RECORD: Final = "place = 0"
"""Of a row: whether it is the first, or the only one, that its record became."""


def apart(records: DataFrame) -> DataFrame:
    """Rows as `schemas.RECORDS` says, of rows with a `run` beside all that; its `event` and `digest` are the run's."""
    each = F.explode(F.sequence(F.lit(0), F.coalesce(F.col("run").cast("int"), F.lit(1)) - 1))
    at = F.col("_at")
    own = F.substring("digest", at * LEAF_BYTES + 1, F.lit(LEAF_BYTES))
    taken_apart = records.withColumn("_at", each).withColumns(
        {
            "event": F.col("event") + at,
            "digest": F.when(F.col("run").isNull(), F.col("digest")).otherwise(own),
            "place": F.col("place") + at,
        }
    )
    return taken_apart.select(*RECORDS.names)
