"""The step: what it hands to the disk is in an order that loses no row, and its records say what they were told."""

from __future__ import annotations

from random import Random

import msgspec

from p2psub.model.effects import Pack, Persist, ReadPacks, Write
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record
from p2psub.model.step import Body, Step
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


def test_a_pack_is_durable_with_the_rows_of_its_step() -> None:
    """One Persist carries both, and what waits for it is done when that is stored, not before."""
    step, done = step_at(1), list[str]()
    assert [step.append("head", "body"), step.append("head 2", "body 2")] == [1, 2]
    step.write("owed_event", (1,), "row")
    step.when_durable(lambda: done.append("durable"))
    packs = [Pack(1, "head", "body"), Pack(2, "head 2", "body 2")]
    assert step.close() == [Persist(1, [Write("owed_event", (1,), "row")], packs)]
    step.keep_promises(0)
    assert done == []
    step.keep_promises(1)
    assert done == ["durable"]


def test_packs_alone_are_waited_for_and_numbers_go_on_from_the_last_process() -> None:
    """No number that was ever given in the store is given again."""
    step, done = Step(at(1), 1, Random(1), last_pack=41), list[str]()
    assert step.append("head", "body") == 42
    step.when_durable(lambda: done.append("durable"))
    assert step.close() == [Persist(1, [], [Pack(42, "head", "body")])]
    assert done == []


def test_packs_are_erased_with_the_next_writes_or_when_it_is_time() -> None:
    """An erasure alone writes nothing; it goes along with a row, or by itself once `erase_now` says so."""
    step = step_at(1)
    step.erase_pack(7)
    assert step.close() == []
    step.write("owed_event", (1,), "row")
    assert step.close() == [Persist(1, [Write("owed_event", (1,), "row")], [], [7])]
    step.erase_pack(8)
    step.erase_now()
    assert step.close() == [Persist(2, [], [], [8])]
    step.erase_now()
    assert step.close() == []


def test_bodies_go_to_whoever_asked_until_all_are_there() -> None:
    """A read may be of what the same step appended; pages of two reads do not mix, and what is lost is recorded."""
    step, first, second = Step(at(1), 1, Random(1)), list[Body](), list[Body]()
    step.read([7, step.append("head", "body")], first.extend)
    step.read([9], second.extend)
    assert step.close()[1:] == [ReadPacks(1, [7, 1]), ReadPacks(2, [9])]
    step.take_bodies(1, [(7, None)])
    step.take_bodies(2, [(9, "nine")])
    step.take_bodies(1, [(1, "body")])
    assert (first, second) == ([(7, None), (1, "body")], [(9, "nine")])
    (record,) = step.close()
    assert isinstance(record, Record)
    assert (record.kind, record.reason, record.count) == (Kind.DROP, Reason.UNREADABLE, 1)


def test_body_that_was_erased_while_it_was_asked_for_is_not_missed() -> None:
    """What it was read for may be discharged meanwhile; a body that is missing after that is."""
    step, read = Step(at(1), 1, Random(1)), list[Body]()
    step.read([7], read.extend)
    step.erase_pack(7)
    step.take_bodies(1, [(7, None)])
    assert [effect for effect in step.close() if isinstance(effect, Record)] == []
    step.read([7], read.extend)
    step.take_bodies(2, [(7, None)])
    assert [effect.count for effect in step.close() if isinstance(effect, Record)] == [1]


def test_a_record_says_of_every_field_what_it_was_told() -> None:
    """Fields are handed on by place: each must arrive under its own name."""
    step = step_at(1)
    told = {name: f"the {name}" for name in Record.__struct_fields__[5:]}
    step.record(Kind.DROP, **told)  # type: ignore[arg-type]
    record = step.close()[0]
    assert isinstance(record, Record)
    assert msgspec.structs.asdict(record).items() >= told.items()
    assert (record.kind, record.node, record.incarnation, record.sequence) == (Kind.DROP, at(1).id, 1, 1)
