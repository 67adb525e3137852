"""What is to be looked at comes at its tick: none is missed, none comes twice, and nothing else is walked over."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.owner.due_list import DueList

HAPPENINGS = st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=40)
"""Either an item is put so many ticks from the first, or so many ticks pass."""


@given(HAPPENINGS)
def test_every_item_comes_once_at_its_tick(happenings: list[tuple[bool, int]]) -> None:
    """Or at the next, if that is over: whoever put it is told which. The oldest come first."""
    due_list, waiting, now = DueList[int](), list[tuple[int, int]](), 0
    for item, (is_put, number) in enumerate(happenings):
        if is_put:
            tick = due_list.put(number, item)
            assert tick == max(number, now + 1)
            waiting.append((tick, item))
        else:
            now += number
            came = due_list.due(now)
            assert came == sorted(one for one in waiting if one[0] <= now)
            waiting = [one for one in waiting if one[0] > now]


def test_tick_that_is_over_brings_nothing_again() -> None:
    """Also if a driver tells an earlier one."""
    due_list = DueList[str]()
    due_list.put(3, "item")
    assert due_list.due(5) == [(3, "item")]
    assert due_list.due(5) == due_list.due(2) == []
