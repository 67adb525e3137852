"""How well a machine would serve as super-node: measured, in numbers that compare."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

UNFIT = -1.0
"""The score of a peer that may not rule."""

_GIB = 1 << 30


def measure(data: Path, online_s: float) -> float:
    """A score between 0 and 4, one point each for processors, free memory, free storage and time online."""
    processors = min(1.0, (os.cpu_count() or 1) / 8)
    memory = min(1.0, os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (16 * _GIB))
    storage = min(1.0, shutil.disk_usage(data).free / (100 * _GIB))
    online = min(1.0, online_s / (24 * 3600))
    return round(processors + memory + storage + online, 3)
