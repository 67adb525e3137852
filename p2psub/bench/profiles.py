"""Where the time of a process goes: notes of cProfile, for tools and for people."""

from __future__ import annotations

import cProfile
import io
import pstats
from pathlib import Path
from typing import Final

TOP_FUNCTIONS: Final = 50


class Notes:
    """Off until it is switched on. Everything is slower meanwhile."""

    def __init__(self) -> None:
        self._profile = cProfile.Profile()

    def switch(self, is_on: bool) -> None:
        """Go on, or pause."""
        if is_on:
            self._profile.enable()
        else:
            self._profile.disable()

    def dump(self, path: Path) -> None:
        """Write PATH.pstats, and PATH.txt with the functions that take most time of their own; and begin anew."""
        self._profile.dump_stats(path.with_suffix(".pstats"))
        text = io.StringIO()
        pstats.Stats(self._profile, stream=text).sort_stats(pstats.SortKey.TIME).print_stats(TOP_FUNCTIONS)
        path.with_suffix(".txt").write_text(text.getvalue(), encoding="utf-8")
        self._profile = cProfile.Profile()
