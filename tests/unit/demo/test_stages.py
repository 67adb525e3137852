"""The stages of a run are timed, and told as far as they have come."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from p2psub.demo.stages import Stages, TooSlow, patient


class Notes:
    """What a person was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []

    def begin(self, stage: str, total: int) -> None:
        self.told.append((stage, total))

    def progress(self, done: int) -> None:
        self.told.append(("done", done))

    def note(self, text: str) -> None:
        self.told.append(("note", text))


async def test_steps_are_told_as_they_are_done(autojump_clock: trio.testing.MockClock) -> None:
    """In whatever order; the stage ends with the last of them."""
    notes, events = Notes(), [trio.Event() for _ in range(3)]
    stages = Stages(notes)
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def happen() -> None:
            for event in (events[2], events[0], events[1]):
                await trio.sleep(1)
                event.set()

        with stages.stage("waiting", 4):
            await stages.wait_all([event.wait for event in events], already=1)
    assert notes.told == [("waiting", 4), ("done", 2), ("done", 3), ("done", 4)]
    assert stages.seconds == {"waiting": 3.0}


async def test_patience_ends_with_a_complaint(autojump_clock: trio.testing.MockClock) -> None:
    """That says what is missing, and what to do."""
    with pytest.raises(TooSlow, match="no luck; try again"), patient(5, lambda: "no luck"):
        await Stages(Notes()).wait_all([trio.sleep_forever])
    assert trio.current_time() == pytest.approx(5)
