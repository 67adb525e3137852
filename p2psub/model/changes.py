"""Numbered changes: how declarations come to stand in every cluster, in one order per term."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from p2psub.model.content import Declaration
from p2psub.model.ids import ClusterId, Epoch, Natural


class LogId(NamedTuple):
    """The changes that one super-node numbered in one term, by its cluster and epoch."""

    cluster: ClusterId
    epoch: Epoch


class ChangeNumber(NamedTuple):
    """A change's place in its log; numbers start at 1 and have no gaps."""

    log: LogId
    n: Natural


LOG_BYTES = 64
"""What one log of a vector takes, roughly."""


class Change(msgspec.Struct, frozen=True, array_like=True):
    """One numbered change of what the peers declare."""

    number: ChangeNumber
    record: Declaration


Vector = tuple[tuple[LogId, int], ...]
"""For each log, sorted, the highest number below which none is missing."""
