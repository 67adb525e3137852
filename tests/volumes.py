"""File systems that are small enough to fill."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SMALL_VOLUME_MB = 4


@contextmanager
def small_volume(directory: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small volume")
    directory.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_VOLUME_MB}m", "tmpfs", directory], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"this machine mounts nothing: {mounted.stderr.decode().strip()}")
    try:
        yield directory
    finally:
        subprocess.run(["umount", directory], check=True)
