"""What a promise cost, and whether it was kept, by what the peers say of themselves."""

from __future__ import annotations

from pyroaring import BitMap

from p2psub.bench.orders import EventRoll, Published, WorkerStatus
from p2psub.bench.stretch import Look, Stretch, lost_of
from p2psub.bench.topic_roles import TopicRoles

ROLES = [TopicRoles("a", 0, 1, 2), TopicRoles("b", 1, 2, 0)]
IDS = ["p0", "p1", "p2", "p3"]


def roll(acknowledged: dict[str, list[int]] | None = None, **consumed: list[int]) -> EventRoll:
    """What a peer had acknowledged, and what it consumed."""
    return EventRoll(_bitmaps(acknowledged or {}), _bitmaps(consumed), 0, {})


def _bitmaps(numbers: dict[str, list[int]]) -> dict[str, bytes]:
    return {name: BitMap(each).serialize() for name, each in numbers.items()}


def test_figures_are_spread_over_what_was_acknowledged() -> None:
    """Sums over all peers, from the first call to the last hand-over; memory is that of the largest peer at the end."""
    second_ns, megabyte = 1_000_000_000, 1_000_000
    before = Look(
        (WorkerStatus(5, "p", 10, 1, 2, 3, 80 * megabyte), WorkerStatus(0, "s", 0, 0, 0, 0, 50 * megabyte)), 7
    )
    after = Look(
        (
            WorkerStatus(1_005, "p", 1_010, 41, 22, 13, 90 * megabyte),
            WorkerStatus(1_000, "s", 3_000, 60, 40, 30, 100 * megabyte, 20, 5 * second_ns),
        ),
        2_007,
    )
    stretch = Stretch(
        (Published(second_ns, 4 * second_ns, 15, 1), Published(2 * second_ns, 3 * second_ns, 5)), before, after
    )
    figures = stretch.figures({2_000_000: 1, 3_000_000: 1, 9_000_000: 1})
    assert (stretch.acknowledged, stretch.span_s, figures.events_per_s) == (20, 4.0, 5.0)
    assert (figures.cpu_us_per_event, figures.bytes_per_event, figures.trace_bytes_per_event) == (100.0, 200.0, 100.0)
    assert (figures.messages_per_event, figures.rows_per_event, figures.commits_per_s) == (5.0, 3.0, 10.0)
    assert (figures.latency_p50_ms, figures.latency_p99_ms) == (3.0, 3.0)
    assert (figures.rss_mb_start, figures.rss_mb_end) == (50.0, 100.0)


def test_memory_by_minute_is_that_of_one_peer() -> None:
    """Of the one that is the largest at the end, though another was larger before."""
    look = Look((WorkerStatus(0, rss_bytes=60_000_000), WorkerStatus(0, rss_bytes=70_000_000)), 0)
    stretch = Stretch((), look, look, ((55_000_000, 50_000_000), (60_000_000, 69_000_000)))
    assert stretch.rss_mb_by_minute == (50.0, 69.0)


def test_figures_of_a_stretch_in_which_nothing_came() -> None:
    """There is no latency; that all is lost is said elsewhere."""
    look = Look((WorkerStatus(0),), 0)
    figures = Stretch((Published(0, 1_000_000_000, 1),), look, look).figures({})
    assert (figures.latency_p50_ms, figures.latency_p99_ms) == (0.0, 0.0)


def test_all_that_was_promised_came() -> None:
    """And something without a promise."""
    rolls = [roll({"a": [1, 3]}, p1=[1]), roll({"b": [1]}), roll(p0=[1, 2, 3]), roll()]
    assert lost_of(ROLES, IDS, rolls) == 0


def test_what_its_subscriber_did_not_get_is_lost() -> None:
    """Though another peer got it; whether it is missing among others, behind the last one, or with all of them."""
    rolls = [roll({"a": [1, 2, 9]}), roll({"b": [1]}), roll(p0=[1]), roll(p0=[1, 2], p1=[1])]
    assert lost_of(ROLES, IDS, rolls) == 3
