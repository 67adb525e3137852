"""What the peers of a trace were told to do, as their `start` records say: bounds are counted in their heartbeats."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.tables import Tables
from p2psub.config import NodeConfig
from p2psub.model.records import Kind

_DEFAULT = NodeConfig()


class Settings(NamedTuple):
    """The defaults, where no record says otherwise."""

    heartbeat_us: int = _DEFAULT.heartbeat_us
    copies: int = _DEFAULT.pubsub.copies
    """That an acknowledgement needs where there are enough members."""

    @classmethod
    def of(cls, tables: Tables) -> Settings:
        """Where peers differ, none is accused: the longest heartbeat, and the fewest copies."""
        started = tables.of(Kind.START)
        told = started.agg(F.max("heartbeat_us").alias("heartbeat_us"), F.min("copies_required").alias("copies"))
        said = {name: value for name, value in told.collect()[0].asDict().items() if value is not None}
        return cls()._replace(**said)

    def beats(self, number: int) -> int:
        """So many heartbeats, in microseconds."""
        return number * self.heartbeat_us
