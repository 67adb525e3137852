"""Segments: every record comes back as it was, and what is damaged is named."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.content import Event, Filter, Moment, Operator, Predicate, Value
from p2psub.model.ids import EventId
from p2psub.model.instants import Stamp
from p2psub.model.records import Kind, Record
from p2psub.traces.runs import is_run
from p2psub.traces.segments import SegmentDamaged, encode_records, read_segments
from tests.oracles.instances import exact, instances_of
from tests.unit.bench import at, node_at, subscription_of

NODE = at(1)
EVENT = EventId(node_at(9), 1, 1)
VALUES: dict[str, Value] = {
    "bool": True,
    "int": 1,
    "float": 1.0,
    "text": "1",
    "date": Moment(1),
    "ints": frozenset([1, 2]),
    "texts": frozenset(["1"]),
    "none": frozenset(),
    "large": 2**64 - 1,
    "tiny": 5e-324,
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "$float": "inf",
    "line": "a\nb\r\u2028c",
}


def written(directory: Path, records: list[Record]) -> list[Record]:
    """These records, written to a segment and read again."""
    (directory / "0123456789-1-000000000001.v5.ndjson").write_bytes(encode_records(records))
    return list(read_segments(directory))


def is_sound(record: Record) -> bool:
    """Whether a core could have made the record: what says that it is a run is one."""
    return record.run is None or is_run(record)


@given(st.lists(instances_of(Record).filter(is_sound), min_size=1, max_size=3))
def test_every_record_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, records: list[Record]) -> None:
    """Every field of a record survives with its type: ids, nested events, filters, sets, dates and infinities."""
    found = written(tmp_path_factory.mktemp("trace"), records)
    assert [exact(record) for record in found] == [exact(record) for record in records]


def test_json_tells_all_values_apart(tmp_path: Path) -> None:
    """Values that look alike in JSON, and floats for which it has no word, come back as they were."""
    event = Event(EVENT, "topic", VALUES, b"\x00\xff")
    wanted = Filter(((Predicate("price", Operator.LESS, math.inf), Predicate("size", Operator.EQUAL, math.nan)), ()))
    first = Record(Kind.PUBLISH, NODE.id, 1, 1, Stamp(1, 0), published=event)
    second = Record(Kind.SUBSCRIBE, NODE.id, 1, 2, Stamp(2, 0), subscribed=subscription_of(wanted))
    assert repr(written(tmp_path, [first, second])) == repr([first, second])


def test_a_line_is_one_flat_object(tmp_path: Path) -> None:
    """Each line is a JSON object by itself, without the fields that a kind does not use."""
    lines = encode_records([Record(Kind.DROP, NODE.id, 1, n, Stamp(5, n), payload="a\nb", count=3) for n in (1, 2)])
    objects = [msgspec.json.decode(line) for line in lines.split(b"\n")[:-1]]
    node = "AQAAAAAAAAAAAAAAAAAAAAAAAAA="
    assert objects == [
        {"kind": "drop", "node": node, "incarnation": 1, "sequence": n, "stamp": [5, n], "payload": "a\nb", "count": 3}
        for n in (1, 2)
    ]


def run_of(kind: Kind, event: EventId | None, **fields: Any) -> bytes:
    """A line that says that it is a run of two."""
    return encode_records([Record(kind, NODE.id, 1, 2, Stamp(2, 0), event=event, **{"run": 2, **fields})])


@pytest.mark.parametrize(
    "damage",
    [
        b'{"kind":"start","node',
        b'{"kind":"start"}\n',
        b"[]\n",
        b'{"kind":"\xff"}\n',
        run_of(Kind.COPY, None),
        run_of(Kind.COPY, EVENT, run=0),
        run_of(Kind.DROP, EVENT, count=2),
        run_of(Kind.DELIVER, EVENT, digest=bytes(16)),
        run_of(Kind.PUBLISH, EVENT),
    ],
)
def test_a_damaged_segment_is_named(tmp_path: Path, damage: bytes) -> None:
    """The error names file and line, and what to do."""
    path = tmp_path / "0123456789-1-000000000001.v5.ndjson"
    path.write_bytes(encode_records([Record(Kind.START, NODE.id, 1, 1, Stamp(1, 0))]) + damage)
    with pytest.raises(SegmentDamaged, match=r"0001\.v5\.ndjson, line 2: .*leave this file out"):
        list(read_segments(tmp_path))
