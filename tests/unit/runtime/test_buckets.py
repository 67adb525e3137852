"""A bucket allows a burst, then a rate, and remembers a debt."""

from __future__ import annotations

import pytest

from p2psub.runtime.buckets import TokenBucket


def test_a_burst_is_free() -> None:
    """Up to what the bucket holds."""
    bucket = TokenBucket(rate=10, burst=20, now_s=0)
    assert bucket.take(15, 0) == 0
    assert bucket.take(5, 0) == 0


def test_whoever_takes_more_than_there_is_waits_for_it() -> None:
    """For just as long as it takes to fill; who waited owes nothing."""
    bucket = TokenBucket(rate=10, burst=20, now_s=0)
    assert bucket.take(25, 0) == pytest.approx(0.5)
    assert bucket.take(0, 0.5) == pytest.approx(0)
    assert bucket.take(1, 0.5) == pytest.approx(0.1)


def test_debts_add_up() -> None:
    """Taking again without waiting does not make them smaller."""
    bucket = TokenBucket(rate=10, burst=10, now_s=0)
    assert bucket.take(20, 0) == pytest.approx(1)
    assert bucket.take(10, 0) == pytest.approx(2)


def test_a_bucket_never_holds_more_than_a_burst() -> None:
    """However long nobody took anything."""
    bucket = TokenBucket(rate=10, burst=20, now_s=0)
    assert bucket.take(20, 1_000_000) == 0
    assert bucket.take(10, 1_000_000) == pytest.approx(1)
