"""Ages are counted, not kept: what is told of them is nearly what it was."""

from __future__ import annotations

from collections import Counter

import pytest

from p2psub.bench.ages import percentile_ms, rounded_ns
from p2psub.bench.bursts import p50_us, p99_us


@pytest.mark.parametrize("age_ns", [0, 1, 255, 256, 257, 511, 999_999, 1 << 30, (1 << 40) - 1])
def test_an_age_is_rounded_by_less_than_half_a_percent(age_ns: int) -> None:
    """A short one not at all."""
    assert abs(rounded_ns(age_ns) - age_ns) <= (0 if age_ns < 256 else age_ns / 200)


def test_there_are_few_different_ages() -> None:
    """Up to a minute, in steps of a tenth of a millisecond."""
    assert len({rounded_ns(age_ns) for age_ns in range(0, 60_000_000_000, 100_000)}) < 3_000


def test_percentiles_are_nearly_those_of_all_ages() -> None:
    """Of long ones as of short ones."""
    ages_ns = [number * number for number in range(1_000, 3_001)]
    counted = Counter(map(rounded_ns, ages_ns))
    assert percentile_ms(counted, 50) == pytest.approx(p50_us(ages_ns) / 1000, rel=0.005)
    assert percentile_ms(counted, 99) == pytest.approx(p99_us(ages_ns) / 1000, rel=0.005)


def test_ranks_are_exact() -> None:
    """As many events as there were are passed, not as many ages."""
    assert percentile_ms({1_000_000: 98, 2_000_000: 1, 3_000_000: 1}, 99) == 2.0
    assert percentile_ms({1_000_000: 1, 2_000_000: 98, 3_000_000: 1}, 50) == 2.0
    assert percentile_ms({7_000_000: 1}, 99) == 7.0


def test_no_event_has_no_age() -> None:
    """That all is lost is said elsewhere."""
    assert percentile_ms({}, 50) == 0.0
