"""The collector looks more rarely, and never at what was loaded."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from p2psub.runtime.gc_tuning import THRESHOLD, tune_gc


@pytest.fixture
def collector() -> Iterator[None]:
    """As it was before, afterwards."""
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


def test_what_was_loaded_is_left_alone(collector: None) -> None:
    """And what comes is looked at in larger portions; it is still looked at."""
    tune_gc()
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold()[0] == THRESHOLD
    assert gc.isenabled()
