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

    @property
    def name(self) -> str:
        return getattr(self.apply, "__name__", "mutant")


MUTANTS: list[Mutant] = []


def mutant(*killers: str, on: Scenario, first: int = 0, seeds: int = 6) -> Callable[[Break], Break]:
    """Register a breaking function. `first` is the seed to try first, `seeds` how many may be tried in all."""

    def register(apply: Break) -> Break:
        others = [seed for seed in range(seeds + 1) if seed != first]
        MUTANTS.append(Mutant(apply, frozenset(killers), on, (first, *others[: seeds - 1])))
        return apply

    return register
