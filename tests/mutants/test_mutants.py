"""Every mutant of the protocol is killed by the simulator, in a run that the real protocol passes.

A mutant that survives says that the schedules are not hostile enough. `-k name` runs one; what killed each, and where,
is in the summary at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from time import process_time

import pytest

from sims.scenarios.run import run
from sims.scenarios.scenario import Scenario
from tests.mutants.everyone import EVERYONE
from tests.mutants.mutant import Mutant

MUTANTS_MIN = 18


@cache
def unmutated(scenario: Scenario, seed: int) -> tuple[str, ...]:
    """What the real protocol breaks there: nothing, one hopes. Many mutants share a run."""
    return tuple(f"{finding.invariant}: {finding.text}" for finding in run(scenario, seed).findings)


def mutated(one: Mutant, seed: int) -> dict[str, str]:
    """What the mutant breaks there, the first finding of each invariant."""
    with pytest.MonkeyPatch.context() as patch:
        one.apply(patch)
        findings = run(one.scenario, seed).findings
    return {finding.invariant: finding.text for finding in reversed(findings)}


def marks_of(one: Mutant) -> list[pytest.MarkDecorator]:
    """Mutants that die in the same run share a process: there the real protocol runs it once."""
    first = next(other for other in EVERYONE if (other.scenario, other.seeds[0]) == (one.scenario, one.seeds[0]))
    return [pytest.mark.xdist_group(first.name), *([pytest.mark.slow] if one.is_slow else [])]


@pytest.mark.parametrize(
    "one",
    [pytest.param(one, id=one.name, marks=marks_of(one)) for one in EVERYONE],
)
def test_mutant_is_killed(one: Mutant, record_property: Callable[[str, object], None]) -> None:
    """One of the invariants that guard the rule notices, and only because the rule is broken."""
    began = process_time()
    found: list[dict[str, str]] = []
    for seed in one.seeds:
        broken = mutated(one, seed)
        found.append(broken)
        killers = sorted(one.killers & broken.keys())
        if killers and "exception" not in broken:
            assert unmutated(one.scenario, seed) == (), f"seed {seed} fails without the mutant too"
            seconds = process_time() - began
            record_property("mutant", f"{one.name}: {', '.join(killers)} at seed {seed} ({seconds:.1f} s)")
            return
    pytest.fail(f"{one.name} survives seeds {one.seeds}; found only {found}")


def test_mutants_are_many_and_say_what_they_break() -> None:
    """Each has a name of its own, a rule, and a killer that means something."""
    assert len({one.name for one in EVERYONE}) == len(EVERYONE) >= MUTANTS_MIN
    for one in EVERYONE:
        assert (one.apply.__doc__ or "").startswith("Rule"), one.name
        assert one.killers
        assert not one.killers & {"vacuous", "exception", "trace", "bound:formation"}
