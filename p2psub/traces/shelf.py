"""The segments of one node in one directory: new ones are added, the oldest discarded when they are too large."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from p2psub.model.ids import NodeId
from p2psub.model.records import Record
from p2psub.traces.segments import SegmentName, encode_records, segments_of, short_name
from p2psub.whole_file import write_whole

_BLOCK_BYTES: Final = 4096
"""What a file takes on the disk is a multiple of this, on most: many small segments are larger than they look."""


class Shelf:
    """Blocking; used by one thread at a time. Holds the segments of all incarnations of its node."""

    __slots__ = ("_bytes", "_bytes_max", "_directory", "_node")

    def __init__(self, directory: Path, node: NodeId, bytes_max: int) -> None:
        self._directory = directory
        self._node = short_name(node)
        self._bytes_max = bytes_max
        directory.mkdir(parents=True, exist_ok=True)
        for draft in directory.glob(f".{self._node}-*"):
            # Of a process that was killed: it had promised nothing about it.
            draft.unlink()
        self._bytes = sum(_bytes_on_disk(path) for path in self._segments())

    def add(self, batch: list[Record], *, may_discard: bool = True) -> int:
        """Make a batch durable as one segment; returns how many older records had to go for it.

        After an OSError the same batch, or one that begins with it, may be added again.
        """
        path = self._directory / SegmentName.of(batch[0]).file_name
        write_whole(path, encode_records(batch))
        self._bytes += _bytes_on_disk(path)
        return self._discard() if may_discard and self._bytes > self._bytes_max else 0

    def _discard(self) -> int:
        """Make an eighth of the room free: discarding is told by a record, and must not be the cause of the next."""
        segments = self._segments()
        self._bytes = sum(map(_bytes_on_disk, segments))
        discarded = 0
        for path in segments[:-1]:
            if self._bytes <= self._bytes_max * 7 // 8:
                break
            discarded += path.read_bytes().count(b"\n")
            self._bytes -= _bytes_on_disk(path)
            path.unlink()
        return discarded

    def _segments(self) -> list[Path]:
        return [path for _, path in segments_of(self._directory.glob(f"{self._node}-*"))]


def _bytes_on_disk(path: Path) -> int:
    return -(-path.stat().st_size // _BLOCK_BYTES) * _BLOCK_BYTES
