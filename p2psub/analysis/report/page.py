"""What the report shows: small values, collected from the answers, ready to draw.

Texts come from traces as they are; only `elements` turns them into HTML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Slice:
    """What happened to what began in one slice of time."""

    begin_us: int
    end_us: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many latencies lie at or below `upper_us` and above those of the bucket before."""

    upper_us: int
    count: int


@dataclass(frozen=True, slots=True)
class NodeDuplicates:
    """What arrived again at one node, by cause."""

    node: str
    received: int
    causes: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.causes.values())


@dataclass(frozen=True, slots=True)
class Cell:
    """A cluster's place in the cube, who stood there last, and what it carried."""

    prefix: str
    cluster: str
    node: str
    load: int


@dataclass(frozen=True, slots=True)
class TermSpan:
    """One super-node's time over one cluster. `ending` says how it ended; empty if it lasted as long as the trace."""

    cluster: str
    node: str
    epoch: int
    begin_us: int
    end_us: int
    ending: str = ""


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A promise that was broken, or may have been, with the record that shows it."""

    invariant: str
    verdict: str
    text: str
    wall_us: int | None
    record: str
    about: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A small table for people."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_shortened: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """The whole report."""

    sources: tuple[str, ...]
    made_at: str
    figures: Mapping[str, object]
    violated: int = 0
    unknown: int = 0
    findings: tuple[ShownFinding, ...] = ()
    """The worst first; at most so many as a person reads."""
    pairs: tuple[Slice, ...] = ()
    reach: tuple[Slice, ...] = ()
    latency: Mapping[str, tuple[Bucket, ...]] = field(default_factory=dict)
    """By guarantee."""
    duplicates: tuple[NodeDuplicates, ...] = ()
    cells: tuple[Cell, ...] = ()
    cells_left_out: int = 0
    terms: tuple[TermSpan, ...] = ()
    terms_left_out: int = 0
    grids: tuple[Grid, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    """Files that were not read, and why."""
    cut: tuple[tuple[str, str], ...] = ()
    """Processes whose trace was cut, and when it ends."""
