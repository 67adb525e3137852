"""Trace segments as files: what they are called, how records lie in them, and how they are read.

    <first 10 hex digits of the node>-<incarnation>-<sequence of its first record>.v<schema version>.ndjson

A segment holds one JSON object per line, in the order of the sequence, and is complete as soon as it has its name.
Dot names are drafts; readers, Spark among them, pass over them. JSON has no word for NaN and the infinities: as values
of an event or constants of a filter they are written {"$float": "nan"}.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from p2psub.errors import P2psubError
from p2psub.model.content import Advertisement, Filter, Subscription, Value
from p2psub.model.ids import NodeId
from p2psub.model.records import SCHEMA_VERSION, Record
from p2psub.traces.runs import is_run

_FLOAT: Final = "$float"
_NAME: Final = re.compile(r"([0-9a-f]{10})-(\d+)-(\d+)(?:\.v(\d+))?\.ndjson")
_BEGIN: Final = re.compile(r"([0-9a-f]{10})-(\d+)-(\d+)\.")
_UNVERSIONED: Final = 1
"""The first version was not in the names."""
_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Record)
_Part = TypeVar("_Part")
_Declared = TypeVar("_Declared", Subscription | None, Advertisement | None)


SHORT_CHARS: Final = 10
"""Of a node's id in hex, as much as the names of its segments hold."""


class SegmentDamaged(P2psubError):
    """A segment holds something else than records."""


class SegmentName(NamedTuple):
    """The name of a segment; in the order of these a process wrote them."""

    node: str
    incarnation: int
    first: int
    version: int = SCHEMA_VERSION

    @classmethod
    def named(cls, file_name: str) -> SegmentName | None:
        """The segment that has this name; None if no segment has it."""
        name = _NAME.fullmatch(file_name)
        return name and cls(name[1], int(name[2]), int(name[3]), int(name[4] or _UNVERSIONED))

    @classmethod
    def beginning(cls, file_name: str) -> SegmentName | None:
        """The segment that a file was, whatever was added to its name, as by packing it."""
        name = _BEGIN.match(file_name)
        return name and cls(name[1], int(name[2]), int(name[3]))

    @classmethod
    def of(cls, record: Record) -> SegmentName:
        """The segment that begins with a record."""
        return cls(short_name(record.node), record.incarnation, record.sequence)

    @property
    def file_name(self) -> str:
        return f"{self.node}-{self.incarnation}-{self.first:012d}.v{self.version}.ndjson"


def short_name(node: NodeId) -> str:
    """How a node is called in the names of its segments."""
    return node.hex()[:SHORT_CHARS]


def segments_of(paths: Iterable[Path]) -> list[tuple[SegmentName, Path]]:
    """Those of the files that are segments, in order; anything else is passed over."""
    found = ((SegmentName.named(path.name), path) for path in paths)
    return sorted((segment, path) for segment, path in found if segment)


def read_segments(directory: Path) -> Iterator[Record]:
    """All records in and below a directory, each process's in order; SegmentDamaged where a line is not a record."""
    for _, path in segments_of(directory.rglob("*.ndjson")):
        yield from read_segment(path)


def read_segment(path: Path) -> Iterator[Record]:
    """The records of one segment; SegmentDamaged where it cannot be read, is of another version, or a line is none."""
    segment = SegmentName.named(path.name)
    if segment is not None and segment.version != SCHEMA_VERSION:
        raise SegmentDamaged(
            f"{path} has schema version {segment.version}, and this p2psub reads {SCHEMA_VERSION}; "
            "read it with the p2psub that wrote it, or leave this file out"
        )
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise SegmentDamaged(f"{path} cannot be read: {error.strerror}; leave it out and read the rest") from error
    for number, line in enumerate(lines, 1):
        try:
            record = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise SegmentDamaged(f"{path}, line {number}: {error}; leave this file out and read the rest") from error
        if record.run is not None and not is_run(record):
            raise SegmentDamaged(f"{path}, line {number}: not a run of events; leave this file out and read the rest")
        yield record


def encode_records(records: list[Record]) -> bytes:
    """The content of a segment."""
    lines = _encoder.encode_lines(records)
    # Empty fields are left out, so nothing but a float that JSON cannot say comes out as null.
    if b"null" in lines:
        lines = _encoder.encode_lines([_with_floats_marked(record) for record in records])
    return lines


def _with_floats_marked(record: Record) -> Record:
    published = record.published
    if published is not None:
        marked = {name: _marked(value) for name, value in published.attributes.items()}
        published = msgspec.structs.replace(published, attributes=marked)
    subscribed, advertised = _filter_marked(record.subscribed), _filter_marked(record.advertised)
    return msgspec.structs.replace(record, published=published, subscribed=subscribed, advertised=advertised)


def _filter_marked(declared: _Declared) -> _Declared:
    if declared is None:
        return declared
    conjunctions = (
        tuple(msgspec.structs.replace(test, constant=_marked(test.constant)) for test in conjunction)
        for conjunction in declared.filter.conjunctions
    )
    return msgspec.structs.replace(declared, filter=Filter(tuple(conjunctions)))


def _marked(value: Value) -> object:
    is_said = not isinstance(value, float) or math.isfinite(value)
    return value if is_said else {_FLOAT: repr(value)}


def _decode(line: bytes) -> Record:
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        # Rare: only such a line is read a second time, for a marked float is not a value of the model.
        return msgspec.convert(_with_floats(msgspec.json.decode(line)), Record)


def decode_part(text: str, kind: type[_Part]) -> _Part:
    """A part of a record by itself, such as the event in `published`."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError:
        return msgspec.convert(_with_floats(msgspec.json.decode(text)), kind)


def _with_floats(part: Any) -> Any:
    match part:
        case {"$float": "nan" | "inf" | "-inf" as text} if len(part) == 1:
            return float(text)
        case dict():
            return {name: _with_floats(value) for name, value in part.items()}
        case list():
            return [_with_floats(value) for value in part]
        case _:
            return part
