"""What answers and audits are told beside the trace, so that it is found out once for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from pyspark.sql import DataFrame

from p2psub.analysis.debts import acknowledged
from p2psub.analysis.partitions import Partition, partitions
from p2psub.analysis.settings import Settings
from p2psub.analysis.silent_spans import SilentSpans
from p2psub.analysis.tables import Tables

D_DIFF_BEATS: Final = 60
"""Within so many heartbeats an event reaches a stable subscription: what design section 4 gives an outbox to become
empty again after faults."""


def _as_it_is(frame: DataFrame) -> DataFrame:
    return frame


class AuditContext(NamedTuple):
    """What is left out is found out by each for itself; who asks all of them does it once for all."""

    pairs: DataFrame | None = None
    """What `rematch.rematch` found; None without `--rematch`."""
    d_diff_us: int | None = None
    settings: Settings | None = None
    partitions: list[Partition] | None = None
    acks: DataFrame | None = None
    """`debts.acknowledged`, kept."""
    silent_spans: SilentSpans | None = None
    covered: DataFrame | None = None
    """`answers.coverage.coverage`, kept, with numbers for names."""

    settle: Callable[[DataFrame], DataFrame] = _as_it_is
    """Computes now what is few in a sound trace. Who joins it knows then how few, and need not bring the many to it."""

    def acks_of(self, tables: Tables) -> DataFrame:
        """Acknowledged events with the storing behind them."""
        return acknowledged(tables) if self.acks is None else self.acks

    def settings_of(self, tables: Tables) -> Settings:
        """How peers were set."""
        return Settings.of(tables) if self.settings is None else self.settings

    def d_diff_us_of(self, tables: Tables) -> int:
        """The bound of liveness."""
        return self.settings_of(tables).beats(D_DIFF_BEATS) if self.d_diff_us is None else self.d_diff_us

    def partitions_of(self, tables: Tables) -> list[Partition]:
        """When the overlay was in parts."""
        return partitions(tables, self.settings_of(tables)) if self.partitions is None else self.partitions

    def silent_spans_of(self, tables: Tables) -> SilentSpans:
        """Where the trace is silent."""
        return SilentSpans.of(tables) if self.silent_spans is None else self.silent_spans


NO_CONTEXT: Final = AuditContext()
"""The trace alone."""
