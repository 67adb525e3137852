"""All audits in order, so that a job can run them one by one and say which is under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from pyspark.sql import DataFrame

from p2psub.analysis.audit_context import AuditContext
from p2psub.analysis.audits import (
    books,
    broadcasts,
    conservation,
    copies,
    deliveries,
    lateness,
    liveness,
    losses,
    queues,
    rings,
    sequences,
    terms,
)
from p2psub.analysis.tables import Tables


class Audit(NamedTuple):
    """One family of promises: `find` gives its violations."""

    name: str
    promises: tuple[str, ...]
    find: Callable[[Tables, AuditContext], DataFrame]


AUDITS: Final = (
    Audit("sequences", ("trace",), sequences.audit),
    Audit("losses", ("S1", "outcome"), losses.audit),
    Audit("deliveries", ("S2", "S3", "S4"), deliveries.audit),
    Audit("lateness", ("S18",), lateness.audit),
    Audit("books", ("S19",), books.audit),
    Audit("copies", ("S5", "S9"), copies.audit),
    Audit("rings", ("S8",), rings.audit),
    Audit("terms", ("S10",), terms.audit),
    Audit("broadcasts", ("S11",), broadcasts.audit),
    Audit("queues", ("S13",), queues.audit),
    Audit("conservation", ("conservation",), conservation.audit),
    Audit("liveness", ("liveness",), liveness.audit),
)
"""The trace's own soundness first: what it lacks explains the unknowns of all others."""
