"""First come, first served."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.queueing.link_queue import LinkQueue
from tests.unit.queueing.messages import LINE, after, message, stake


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 90)), max_size=40))
def test_content_leaves_in_the_order_it_came_each_once(turns: list[tuple[bool, int]]) -> None:
    """However pushes and pops alternate, and whatever is at stake."""
    queue, pushed, popped = LinkQueue[str]("fcfs", LINE), 0, 0
    for is_push, due_s in turns:
        if is_push:
            pushed += 1
            queue.push(message(str(pushed), stake(1_000.0 + due_s)), after(0))
        elif queue:
            popped += 1
            assert queue.pop(after(0)).item == str(popped)
        assert len(queue) == pushed - popped
