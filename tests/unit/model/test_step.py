"""The step: what it hands to the disk is in an order that loses no row."""

from __future__ import annotations

from p2psub.model.effects import Persist, Write
from tests.unit.bench import step_at


def test_erasing_now_never_erases_a_row_written_in_this_step() -> None:
    """An erasure left over from a step before comes ahead of the new row of the same name."""
    step = step_at(1)
    step.erase("deed", (1,))
    step.close()
    step.write("deed", (1,), "again")
    step.erase_now()
    (persist,) = [effect for effect in step.close() if isinstance(effect, Persist)]
    assert persist.writes == [Write("deed", (1,), None), Write("deed", (1,), "again")]
