"""What a process has in memory, as the system tells it."""

from __future__ import annotations

import os
from pathlib import Path


def rss_bytes_of(pid: int) -> int:
    """The resident set of a process of this machine; 0 if it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
