"""What lies in the directories that a person names: segments, compacted traces, and files that are neither.

Every file that claims to be a trace is read or named with a reason. In a directory that holds segments everything else
is named too; elsewhere (a peer's keys, its store) only what is called `.ndjson`. Dot names are drafts.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from p2psub.api.errors import Refusal
from p2psub.model.records import SCHEMA_VERSION
from p2psub.traces.segments import SegmentName

T = TypeVar("T")

MARK: Final = "p2psub-tables.json"
"""The file that makes a directory compacted traces, written last."""


SMALL_BYTES: Final = 32 << 20
"""Some 100,000 records."""


class NoTraces(Refusal):
    """There is nothing to analyse."""


class Skipped(NamedTuple):
    """A file that was left out, and why."""

    path: Path
    reason: str


class Sources(NamedTuple):
    """What is to be read."""

    segments: list[Path]
    compacted: list[Path]
    skipped: list[Skipped]


def find_sources(directories: Iterable[Path]) -> Sources:
    """Everything below the directories; NoTraces if one is missing or there is nothing to read in any."""
    named = list(dict.fromkeys(directory.resolve() for directory in directories))
    found = Sources([], [], [])
    for directory in named:
        if not directory.is_dir():
            raise NoTraces(f"there is no directory {directory}", "give the one that a peer writes its traces to")
        for place, folders, files in _walk(directory):
            if MARK in files:
                found.compacted.append(place)
                found.skipped.extend(_beside_tables(place))
                folders.clear()
            else:
                _sort(place, folders, sorted(name for name in files if not name.startswith(".")), found)
    if not found.segments and not found.compacted:
        where = ", ".join(map(str, named))
        raise NoTraces(f"no trace that can be read is in {where}{told(found.skipped)}", "a peer writes to DATA/traces")
    # Two of the directories may overlap.
    return Sources(_once(found.segments), _once(found.compacted), _once(found.skipped))


def has_compacted(directories: Iterable[Path]) -> bool:
    """Whether there are compacted traces among them."""
    try:
        return bool(find_sources(directories).compacted)
    except NoTraces:
        return False


def told(skipped: Sequence[Skipped]) -> str:
    """The first few of the files that were left out, as part of a sentence."""
    return "".join(f"\n  {path}: {reason}" for path, reason in skipped[:5]) + ("\n" if skipped else "")


def is_small(sources: Sources) -> bool:
    """Whether starting takes longer than computing: then a quick compiler is worth more than a thorough one."""
    if sources.compacted:
        return False
    left = SMALL_BYTES
    for path in sources.segments:
        # A peer that writes may discard it meanwhile.
        with suppress(FileNotFoundError):
            left -= path.stat().st_size
        if left < 0:
            return False
    return True


def unread_starts(skipped: Iterable[Skipped]) -> Counter[tuple[str, int]]:
    """Of which starts of peers segments were left out, and how many; by how the names of the files begin."""
    segments = (SegmentName.beginning(path.name) for path, _ in skipped)
    return Counter((segment.node, segment.incarnation) for segment in segments if segment)


def _walk(directory: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Every directory once, also behind links. One that cannot be read is refused: what it holds is unknown."""
    seen = set()
    for place, folders, files in os.walk(directory, onerror=_refuse, followlinks=True):
        if (real := Path(place).resolve()) in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield Path(place), folders, files


def _refuse(error: OSError) -> None:
    raise NoTraces(f"{error.filename} cannot be read: {error.strerror}", "allow it, or name the other directories")


def _beside_tables(place: Path) -> Iterator[Skipped]:
    segments = (path for path in sorted(place.rglob("*")) if SegmentName.named(path.name))
    return (Skipped(path, "lies among compacted traces") for path in segments)


def _sort(place: Path, folders: list[str], files: list[str], found: Sources) -> None:
    has_segments = any(map(SegmentName.named, files))
    for name in files:
        path = place / name
        reason = _unfit(path)
        if reason is None:
            found.segments.append(path)
        elif has_segments or _is_called_trace(name):
            found.skipped.append(Skipped(path, reason))
    found.skipped.extend(
        Skipped(place / name, "a directory with the name of a file") for name in folders if _is_called_trace(name)
    )


def _is_called_trace(name: str) -> bool:
    return ".ndjson" in name


def _unfit(path: Path) -> str | None:
    """Why a file cannot be a segment that we read, as far as can be seen from outside."""
    segment = SegmentName.named(path.name)
    if segment is None:
        return "not the name of a segment"
    if segment.version != SCHEMA_VERSION:
        age = "older" if segment.version < SCHEMA_VERSION else "newer"
        return f"schema version {segment.version}, {age} than {SCHEMA_VERSION}, which this p2psub reads"
    try:
        if not path.is_file():
            return "not a file"
        if not path.stat().st_size:
            return "empty"
        with path.open("rb"):
            return None
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _once(several: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(several))
