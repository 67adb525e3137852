"""How a long job says how far it is."""

from __future__ import annotations

from collections.abc import Callable

OnProgress = Callable[[str, int, int], None]
"""Is told what is under way or has come, how much is done, and how much there is in all."""


def no_progress(_what: str, _done: int, _total: int) -> None:
    """For who does not want to know."""
