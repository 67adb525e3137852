"""What things take in memory."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable


def bytes_of(make: Callable[[], object]) -> int:
    """What the thing made takes."""
    gc.collect()
    tracemalloc.start()
    made = make()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del made
    return held
