"""Whose traces were read, and how much of each is there."""

from __future__ import annotations

from pyspark.sql import DataFrame

from p2psub.analysis.tables import Tables


def processes(tables: Tables) -> DataFrame:
    """One row per start of a peer: records read, the first and the last, whether it closed, what is missing."""
    return tables.processes.drop("node", "incarnation").orderBy("process")
