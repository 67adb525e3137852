"""A session fits the traces that it is asked about."""

from __future__ import annotations

from pyspark.sql import SparkSession

from p2psub.analysis.session import make_room_for


def test_many_rows_are_brought_together_in_many_tasks(spark: SparkSession) -> None:
    """One for every million; what is small is left as it is, and so is what comes after something larger."""
    session = spark.newSession()
    tasks = []
    for rows in (999_999, 7_000_000, 3_000_000):
        make_room_for(session, rows)
        tasks.append(session.conf.get("spark.sql.shuffle.partitions"))
    assert tasks == ["1", "7", "7"]
