"""What answers and audits are told beside the trace, so that it is found out once for all of them."""

from __future__ import annotations

from typing import Final, NamedTuple

from pyspark.sql import DataFrame

from p2psub.analysis.debts import acknowledged
from p2psub.analysis.doubts import Doubts
from p2psub.analysis.tables import Tables

D_DIFF_US: Final = 60_000_000
"""Within this time an event reaches a stable subscription: 60 heartbeats of the default second, the time that design
section 4 gives an outbox to become empty again after faults."""


class Terms(NamedTuple):
    """What is left out is found out by each for itself; who asks all of them does it once for all."""

    pairs: DataFrame | None = None
    """What `rematching.rematch` found; None without `--rematch`."""
    d_diff_us: int = D_DIFF_US
    acks: DataFrame | None = None
    """`debts.acknowledged`, kept."""
    doubts: Doubts | None = None
    covered: DataFrame | None = None
    """`answers.coverage.coverage`, kept, with numbers for names."""

    def acks_of(self, tables: Tables) -> DataFrame:
        """Acknowledged events with the storing behind them."""
        return acknowledged(tables) if self.acks is None else self.acks

    def doubts_of(self, tables: Tables) -> Doubts:
        """Where the trace is silent."""
        return Doubts.of(tables) if self.doubts is None else self.doubts


NOTHING_TOLD: Final = Terms()
"""The trace alone, and the default bound."""
