"""Files that are there whole or not at all, however a process ends."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Put `content` under `path`, durably: a reader finds what was there before, or all of the new.

    It is written under a dot name in the same directory, which a process that is killed may leave behind.
    """
    draft = draft_of(path)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        # On a full disk a half-written draft would take the very space that is missing.
        draft.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def draft_of(path: Path) -> Path:
    """The dot name under which a file is written before it is there."""
    return path.with_name("." + path.name)


def sync_directory(directory: Path) -> None:
    """Make durable which files a directory holds."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
