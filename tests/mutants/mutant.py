"""A mutant: one rule of the protocol broken on purpose, and where and by what that must be noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from sims.scenarios.scenario import Scenario

Break = Callable[[pytest.MonkeyPatch], None]
"""Breaks a rule in the real classes; undone by the patch's end. Its docstring names the rule and what should notice."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken rule, the invariants that may kill it, and the scenario that is hostile to exactly this rule."""

    apply: Break
    killers: frozenset[str]
    scenario: Scenario
    seeds: tuple[int, ...]
    """Tried in this order: the one that killed it first, then others, for when the code moves."""
    is_slow: bool
    """Killed in `make test-slow` alone: its scenario takes many seconds."""

    @property
    def name(self) -> str:
        return getattr(self.apply, "__name__", "mutant")


MUTANTS: list[Mutant] = []


def mutant(
    *killers: str, on: Scenario, first: int | tuple[int, ...] = 0, seeds: int = 6, slow: bool = False
) -> Callable[[Break], Break]:
    """Register a breaking function. `first` names the seeds to try first, `seeds` how many may be tried in all."""
    known = (first,) if isinstance(first, int) else first

    def register(apply: Break) -> Break:
        others = [seed for seed in range(seeds + len(known)) if seed not in known]
        MUTANTS.append(Mutant(apply, frozenset(killers), on, (*known, *others)[:seeds], slow))
        return apply

    return register
