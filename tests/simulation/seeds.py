"""Seeds of one claim: some for `make test`, more for `make test-slow`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def seeds(*first: int, more: Iterable[int]) -> list[Any]:
    """Parameters of a test: `more` are a second opinion."""
    return [*first, *(pytest.param(seed, marks=pytest.mark.slow) for seed in more)]
