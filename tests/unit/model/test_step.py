"""The step: what it hands to the disk is in an order that loses no row, and its records say what they were told."""

from __future__ import annotations

import msgspec

from p2psub.model.effects import Persist, Write
from p2psub.model.records import Kind, Record
from tests.unit.bench import at, step_at


def test_erasing_now_never_erases_a_row_written_in_this_step() -> None:
    """An erasure left over from a step before comes ahead of the new row of the same name."""
    step = step_at(1)
    step.erase("owed_event", (1,))
    step.close()
    step.write("owed_event", (1,), "again")
    step.erase_now()
    (persist,) = [effect for effect in step.close() if isinstance(effect, Persist)]
    assert persist.writes == [Write("owed_event", (1,), None), Write("owed_event", (1,), "again")]


def test_a_record_says_of_every_field_what_it_was_told() -> None:
    """Fields are handed on by place: each must arrive under its own name."""
    step = step_at(1)
    told = {name: f"the {name}" for name in Record.__struct_fields__[5:]}
    step.record(Kind.DROP, **told)  # type: ignore[arg-type]
    record = step.close()[0]
    assert isinstance(record, Record)
    assert msgspec.structs.asdict(record).items() >= told.items()
    assert (record.kind, record.node, record.incarnation, record.sequence) == (Kind.DROP, at(1).id, 1, 1)
