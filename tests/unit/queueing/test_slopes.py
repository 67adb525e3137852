"""A priority as a function of time, and its bound."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from p2psub.queueing.prospects import Prospect
from p2psub.queueing.slopes import Slopes

SECOND = 1_000_000
prospects = st.lists(
    st.tuples(
        st.floats(-10 * SECOND, 60 * SECOND),
        st.floats(100.0, 10 * SECOND).map(lambda deviation: 1.0 / (deviation * math.sqrt(2))),
        st.sampled_from([0.0, 1_000_000.0, 3_000_000.0]),
        st.sampled_from([0.0, 100_000.0, 9_000_000.0]),
    ),
    min_size=1,
    max_size=4,
)
ALONE: Prospect = (10.0 * SECOND, 1.0 / (SECOND * math.sqrt(2)), 1_000_000.0, 100_000.0)


@settings(max_examples=300)
@example(held=[ALONE], postponed_us=10 * SECOND, weight=0.4, begin=0, span=12 * SECOND)
@example(held=[ALONE], postponed_us=0, weight=0.4, begin=0, span=12 * SECOND)
@given(
    held=prospects,
    postponed_us=st.integers(0, 10 * SECOND),
    weight=st.sampled_from([0.0, 0.4, 1.0]),
    begin=st.integers(0, 60 * SECOND),
    span=st.integers(1, 60 * SECOND),
)
def test_no_priority_exceeds_its_bound(
    held: list[Prospect], postponed_us: int, weight: float, begin: int, span: int
) -> None:
    """At no instant of the span; and for good once it only falls."""
    slopes = Slopes(held, postponed_us, weight)
    _, bound = slopes.look(begin, begin + span)
    instants = [begin + span * part // 64 for part in range(65)]
    priorities = [slopes.look(instant, instant)[0] for instant in instants]
    assert max(priorities) <= bound
    if slopes.only_falls_from(begin):
        assert all(later <= earlier for earlier, later in pairwise(priorities))
        assert max(slopes.look(begin + span * times, begin + span * times)[0] for times in range(2, 9)) <= bound


def test_the_bound_of_one_stake_is_its_highest_value() -> None:
    """It rises before its deadline is near, and falls after: the bound is the peak, and no more."""
    slopes = Slopes([ALONE], 2.0 * SECOND, 0.4)
    _, bound = slopes.look(0, 20 * SECOND)
    highest = max(slopes.look(instant, instant)[0] for instant in range(0, 20 * SECOND, 10_000))
    assert highest <= bound <= highest + 10
    assert highest > slopes.look(0, 0)[0] * 1.5


def test_while_both_chances_are_one_the_bound_is_the_priority() -> None:
    """So equals tie, and the first come is found by looking at it alone."""
    slopes = Slopes([ALONE, ALONE], 0.001 * SECOND, 0.4)
    assert slopes.look(0, SECOND) == (800_000, 800_000)
