"""The mean size of what passes."""

from __future__ import annotations

from p2psub.queueing.sizes import MeanSize


def test_the_mean_to_go_by_changes_in_steps() -> None:
    """Only when it is off by a tenth."""
    sizes = MeanSize()
    assert sizes.note(1000)
    assert not sizes.note(1100)
    assert sizes.mean_bytes == 1000.0
    assert sizes.note(1400)
    assert round(sizes.mean_bytes) == 1167


def test_it_forgets_what_passed_long_ago() -> None:
    """After a thousand of another size the mean is theirs."""
    sizes = MeanSize()
    for _ in range(1000):
        sizes.note(1000)
    for _ in range(1000):
        sizes.note(100_000)
    assert 90_000 < sizes.mean_bytes <= 100_000
