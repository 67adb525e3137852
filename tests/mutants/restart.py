"""Mutants of coming back: what is on disk when everybody was down, and what must be known before anybody goes on."""

from __future__ import annotations

import pytest

from p2psub.overlay.hypercube import Hypercube
from p2psub.super_node.completeness import Completeness
from tests.mutants.hostile import ALL_LIGHTS_OUT, LIGHTS_OUT_AMONG_CHANGES, SOME_LIGHTS_OUT_FOR_GOOD
from tests.mutants.mutant import mutant


@mutant("bound:stable", "S1", on=ALL_LIGHTS_OUT, seeds=2)
def comes_back_without_the_directory(patch: pytest.MonkeyPatch) -> None:
    """Rule: the directory is durable. Here it is not read, and nobody knows of another cluster."""
    patch.setattr(Hypercube, "recover", lambda self, entries: None)


@mutant("S1", on=SOME_LIGHTS_OUT_FOR_GOOD, seeds=2)
def names_no_spares(patch: pytest.MonkeyPatch) -> None:
    """Rule: an entry names members besides the super-node. Here none, and clusters lose sight of each other."""
    patch.setattr(Hypercube, "_lacks_spares", lambda self, entry, able: False)


@mutant("S1", on=LIGHTS_OUT_AMONG_CHANGES, first=1)
def goes_on_without_what_others_held(patch: pytest.MonkeyPatch) -> None:
    """Rule: whoever leads after all were down takes what is on every disk first. Here it goes on with its own."""
    patch.setattr(Completeness, "_holds_what_all_held", lambda self: True)
    patch.setattr(Completeness, "_is_seen_in_place", lambda self: True)
