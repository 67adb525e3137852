"""What answers and audits are told beside the trace, so that it is found out once for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from pyspark.sql import DataFrame

from p2psub.analysis.debts import acknowledged
from p2psub.analysis.doubts import Doubts
from p2psub.analysis.partings import Parting, partings
from p2psub.analysis.settings import Settings
from p2psub.analysis.tables import Tables

D_DIFF_BEATS: Final = 60
"""Within so many heartbeats an event reaches a stable subscription: what design section 4 gives an outbox to become
empty again after faults."""


def _as_it_is(frame: DataFrame) -> DataFrame:
    return frame


class AuditContext(NamedTuple):
    """What is left out is found out by each for itself; who asks all of them does it once for all."""

    pairs: DataFrame | None = None
    """What `rematching.rematch` found; None without `--rematch`."""
    d_diff_us: int | None = None
    settings: Settings | None = None
    partings: list[Parting] | None = None
    acks: DataFrame | None = None
    """`debts.acknowledged`, kept."""
    doubts: Doubts | None = None
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

    def partings_of(self, tables: Tables) -> list[Parting]:
        """When the overlay was in parts."""
        return partings(tables, self.settings_of(tables)) if self.partings is None else self.partings

    def doubts_of(self, tables: Tables) -> Doubts:
        """Where the trace is silent."""
        return Doubts.of(tables) if self.doubts is None else self.doubts


NO_CONTEXT: Final = AuditContext()
"""The trace alone."""
