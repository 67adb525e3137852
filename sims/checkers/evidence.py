"""What the checkers are given: the trace with its true times, what was broken, and what the nodes say at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from p2psub.config import NodeConfig
from p2psub.model.ids import ClusterId, NodeId
from p2psub.model.records import Kind, Record
from p2psub.model.status import NodeStatus
from sims.engine.faults import FaultLog
from sims.engine.trace import Entry, each_happening
from sims.workloads.drawn_votes import DrawnVotes

VACUOUS: Final = "vacuous"


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken promise: which, and the record or the words that show it; or why a run can show none."""

    invariant: str
    text: str
    record: Record | None = None
    at_us: int | None = None

    @property
    def is_vacuous(self) -> bool:
        """Whether the run showed too little to be judged; then nothing is broken, and nothing is proven."""
        return self.invariant == VACUOUS


@dataclass(frozen=True, slots=True)
class Phases:
    """When the run's parts began, in true time; a run without a part has its end there."""

    load_us: int
    faults_us: int
    quiet_us: int
    end_us: int


@dataclass(frozen=True, slots=True)
class Site:
    """One machine as the simulator knows it at the end; `incarnation` is the running one, None if it is down."""

    index: int
    node: NodeId
    cluster: ClusterId
    incarnation: int | None
    started_us: int


@dataclass(slots=True)
class Evidence:
    """One run. Statuses are of running peers only, in the order of the machines."""

    config: NodeConfig
    phases: Phases
    entries: list[Entry]
    sites: list[Site]
    faults: FaultLog
    fault_kinds: frozenset[str] = frozenset()
    at_ring_bound: list[NodeStatus] = field(default_factory=list)
    """Statuses 20 heartbeats after quiet began."""
    at_outbox_bound: list[NodeStatus] = field(default_factory=list)
    """Statuses 60 heartbeats after quiet began."""
    at_end: list[NodeStatus] = field(default_factory=list)
    formed: bool = True
    obligations_min: int = 0
    votes: DrawnVotes | None = None
    """How clusters vote; None: a trace tells no more than verdicts."""
    _happenings: list[Entry] | None = None
    _by_kind: dict[Kind, list[Entry]] = field(default_factory=dict)

    def of(self, *kinds: Kind) -> list[Entry]:
        """What records of these kinds say, event by event, in the order in which they were made."""
        if self._happenings is None:
            self._happenings = list(each_happening(self.entries))
            for entry in self._happenings:
                self._by_kind.setdefault(entry[1].kind, []).append(entry)
        if len(kinds) == 1:
            return self._by_kind.get(kinds[0], [])
        wanted = frozenset(kinds)
        return [entry for entry in self._happenings if entry[1].kind in wanted]

    def runs(self, node: NodeId, incarnation: int) -> bool:
        """Whether that process start still ran at the end."""
        return (node, incarnation) in {(site.node, site.incarnation) for site in self.sites}

    @property
    def heartbeat_us(self) -> int:
        return self.config.heartbeat_us


def shown(record: Record) -> str:
    """A record as one line for a human."""
    fields = msgspec.structs.asdict(record)
    parts = [f"{name}={_plain(value)}" for name, value in fields.items() if value is not None and name != "published"]
    return " ".join(parts)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()[:8]
    if isinstance(value, tuple):
        return "(" + ",".join(_plain(item) for item in value) + ")"
    return str(value)


def first_of(findings: Iterable[Finding], most: int = 20) -> list[Finding]:
    """The first findings of each invariant, in true time; a broken run would name thousands."""
    first: list[Finding] = []
    counts: Counter[str] = Counter()
    for finding in sorted(findings, key=lambda one: one.at_us if one.at_us is not None else 1 << 62):
        counts[finding.invariant] += 1
        if counts[finding.invariant] <= most:
            first.append(finding)
    return first
