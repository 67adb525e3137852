"""The hybrid logical clock extends 'happened before', whatever the wall clocks do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.clock import HybridClock
from p2psub.model.instants import Stamp

WALLS = st.integers(1, 20)
STEPS = st.lists(st.one_of(WALLS, st.builds(Stamp, WALLS, st.integers(0, 3))), max_size=30)


@given(STEPS)
def test_stamps_only_grow(steps: list[int | Stamp]) -> None:
    """Each stamp exceeds all given and all heard before it, though the wall clock runs backwards."""
    clock = HybridClock()
    past = [Stamp(0, 0)]
    for step in steps:
        if isinstance(step, Stamp):
            clock.hear(step)
            past.append(step)
        else:
            stamp = clock.tick(step)
            assert stamp > max(past)
            past.append(stamp)


@given(STEPS)
def test_stamps_stay_near_the_wall(steps: list[int | Stamp]) -> None:
    """A stamp's wall part is the greatest wall reading seen or heard so far, never invented."""
    clock = HybridClock()
    seen = 0
    for step in steps:
        if isinstance(step, Stamp):
            clock.hear(step)
            seen = max(seen, step.wall_us)
        else:
            seen = max(seen, step)
            assert clock.tick(step).wall_us == seen


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), WALLS), max_size=30))
def test_messages_carry_order_between_nodes(sends: list[tuple[int, int, int]]) -> None:
    """What is received is stamped later than what was sent, through any chain of nodes."""
    clocks = [HybridClock() for _ in range(3)]
    for sender, receiver, wall_us in sends:
        sent = clocks[sender].tick(wall_us)
        clocks[receiver].hear(sent)
        assert clocks[receiver].tick(1) > sent
