"""How much memory this process takes, as Linux counts it."""

from __future__ import annotations

import re
from pathlib import Path


def peak_rss_bytes() -> int:
    """The most it ever had; `getrusage` would count what the process that started it had, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, flags=re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024
