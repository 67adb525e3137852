"""What seeds of the campaign gave when they were last recorded: renaming and moving code must not change it.

`python -m tests.simulation.recorded` records it anew, in some minutes. A commit that needs it says why.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from sims.scenarios.campaign import Job, reports
from sims.scenarios.run import SeedReport
from sims.scenarios.scenario import Scenario

CAMPAIGN = Scenario()
SEEDS = range(21)
"""The first twenty, and one more: no other draws `late_cluster_cut_off`."""
UNCOMPILED = (5, 13)
"""Seeds of `make test`: what no mutant is run under, and the codec. `make test-slow` runs the others, compiled."""
FILE = Path(__file__).with_name("recorded_seeds.txt")


class Recorded(NamedTuple):
    """What one seed gave: events published, events delivered, and promises broken."""

    seed: int
    published: int
    delivered: int
    violations: int

    @classmethod
    def of(cls, report: SeedReport) -> Recorded:
        """The same of a run."""
        return cls(report.seed, report.judgement.published, report.judgement.delivered, len(report.findings))


def recorded() -> dict[int, Recorded]:
    """What every seed gave, by its number."""
    lines = FILE.read_text(encoding="utf-8").splitlines()[1:]
    rows = [Recorded(*(int(cell) for cell in line.split())) for line in lines]
    return {row.seed: row for row in rows}


def record() -> None:
    """Run every seed, on all cores, and write down what it gave."""
    jobs = [Job(CAMPAIGN, seed) for seed in SEEDS]
    rows = sorted(Recorded.of(report) for report in reports(jobs, os.cpu_count() or 1))
    lines = [" ".join(Recorded._fields), *(" ".join(map(str, row)) for row in rows)]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
