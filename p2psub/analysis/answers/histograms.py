"""Percentiles at 10^8 rows: a histogram of logarithmic buckets, each with its exact least and greatest value.

A bucket is 1 % wide. A percentile (nearest rank) is given as the greatest value of its bucket: never too small, at
most 1 % too large, and exact where values are few.
"""

from __future__ import annotations

import math
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

WIDTH: Final = 0.01
PERCENTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def bucket_of(us: Column) -> Column:
    """The bucket of a span; clocks of two hosts may make it negative."""
    scale = 1 / math.log1p(WIDTH)
    return (F.signum(us) * F.floor(F.log(F.abs(us) + 1.0) * scale)).cast("int")


def histogram(spans: DataFrame, *by: str) -> DataFrame:
    """Columns `by`, bucket, spans, least_us, greatest_us, sum_us; of a frame with a column `us`, nulls left out."""
    known = spans.where(F.col("us").isNotNull())
    return known.groupBy(*by, bucket_of(F.col("us")).alias("bucket")).agg(
        F.count("*").alias("spans"),
        F.min("us").alias("least_us"),
        F.max("us").alias("greatest_us"),
        F.sum("us").alias("sum_us"),
    )


def percentiles(buckets: DataFrame, *by: str) -> DataFrame:
    """Columns `by`, count, min_us, p50_us ... p999_us, max_us, mean_us of a histogram."""
    group = Window.partitionBy(*by)
    ranked = buckets.select(
        "*",
        F.sum("spans").over(group.orderBy("bucket")).alias("up_to"),
        F.sum("spans").over(group).alias("all"),
    )
    at = {
        f"{name}_us": F.min(F.when(F.col("up_to") >= F.ceil(F.col("all") * share), F.col("greatest_us")))
        for name, share in PERCENTILES.items()
    }
    return ranked.groupBy(*by).agg(
        F.sum("spans").alias("count"),
        F.min("least_us").alias("min_us"),
        *(column.alias(name) for name, column in at.items()),
        F.max("greatest_us").alias("max_us"),
        (F.sum("sum_us") / F.sum("spans")).alias("mean_us"),
    )
