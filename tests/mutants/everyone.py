"""All mutants there are: whoever asks for them here has every module of them imported."""

from __future__ import annotations

from tests.mutants import (
    applications,
    books,
    cube,
    departures,
    lateness,
    owed_parcels,
    queues,
    restart,
    ring,
    streams,
    tables,
    votes,
)
from tests.mutants.mutant import MUTANTS, Mutant

MODULES = (applications, books, cube, departures, lateness, owed_parcels, queues, restart, ring, streams, tables, votes)
EVERYONE: tuple[Mutant, ...] = tuple(MUTANTS)
