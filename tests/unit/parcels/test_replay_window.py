"""The replay window: every number is taken once, as long as it is not too far behind."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.parcels.replay_window import WINDOW, ReplayWindow

NUMBER_MAX = (1 << 63) - 1
"""What a parcel may be numbered with."""

NUMBERS = st.integers(0, 3) | st.integers(0, 3 * WINDOW) | st.integers(0, NUMBER_MAX)
STRIDES = st.integers(-WINDOW - 2, WINDOW + 2) | st.sampled_from([-WINDOW - 1, -WINDOW, 1 - WINDOW, WINDOW - 1, WINDOW])


class Remembering:
    """The same with everything remembered: a number is new if it was not seen and is not below the window."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def takes(self, number: int) -> bool:
        is_new = number not in self._seen and number > max(self._seen, default=-1) - WINDOW
        if is_new:
            self._seen.add(number)
        return is_new


@given(st.lists(NUMBERS, max_size=60))
@settings(max_examples=300)
def test_any_numbers_are_taken_as_by_one_who_remembers_all(numbers: list[int]) -> None:
    """Near to each other or far apart, forwards and backwards."""
    window, oracle = ReplayWindow(), Remembering()
    assert [window.takes(number) for number in numbers] == [oracle.takes(number) for number in numbers]


@given(st.integers(0, 2 * WINDOW), st.lists(STRIDES, max_size=60))
@settings(max_examples=300)
def test_numbers_that_overtake_each_other_are_taken_as_by_one_who_remembers_all(at: int, strides: list[int]) -> None:
    """Each a stride from the one before, often over the edge of the window."""
    window, oracle = ReplayWindow(), Remembering()
    for stride in (0, *strides):
        at = max(0, at + stride)
        assert window.takes(at) == oracle.takes(at)


@given(st.permutations(range(40)))
def test_each_number_is_taken_once_in_whatever_order(numbers: list[int]) -> None:
    """And never again."""
    window = ReplayWindow()
    assert [window.takes(number) for number in numbers] == [True] * 40
    assert [window.takes(number) for number in numbers] == [False] * 40


def test_window_ends_where_it_says() -> None:
    """The last number that may still come late is taken, the one below it is not."""
    highest = 5 * WINDOW
    window = ReplayWindow()
    assert window.takes(highest)
    assert window.takes(highest - WINDOW + 1)
    assert not window.takes(highest - WINDOW)
    assert not window.takes(0)


def test_first_number_may_be_any() -> None:
    """Whoever hears a stream from the middle takes it from there."""
    assert all(ReplayWindow().takes(number) for number in (0, 1, WINDOW - 1, WINDOW, NUMBER_MAX))


@given(st.lists(NUMBERS, max_size=30))
def test_memory_is_bounded(numbers: list[int]) -> None:
    """However far the numbers jump."""
    window = ReplayWindow()
    for number in numbers:
        window.takes(number)
        assert window._seen.bit_length() <= WINDOW
