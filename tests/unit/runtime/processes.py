"""Processes that are killed in the middle of their work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def process(module: str, *arguments: object) -> Iterator[IO[str]]:
    """The output of a module that runs as a process of its own; it is killed at the end of the block."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield child.stdout
        finally:
            child.kill()
