"""What a promise cost, and whether it was kept, by what the peers say of themselves."""

from __future__ import annotations

from p2psub.bench.orders import EventRoll, Published, WorkerStatus
from p2psub.bench.stretch import Look, Stretch, duplicates_of, lost_of
from p2psub.bench.topic_roles import TopicRoles

ROLES = [TopicRoles("a", 0, 1, 2), TopicRoles("b", 1, 2, 0)]
IDS = ["p0", "p1", "p2", "p3"]


def roll(acknowledged: dict[str, list[int]] | None = None, **times: bytes) -> EventRoll:
    """What a peer had acknowledged, and what it consumed."""
    return EventRoll(acknowledged or {}, times, [])


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
    figures = stretch.figures([2_000_000, 3_000_000, 9_000_000])
    assert (stretch.acknowledged, stretch.span_s, figures.events_per_s) == (20, 4.0, 5.0)
    assert (figures.cpu_us_per_event, figures.bytes_per_event, figures.trace_bytes_per_event) == (100.0, 200.0, 100.0)
    assert (figures.messages_per_event, figures.rows_per_event, figures.commits_per_s) == (5.0, 3.0, 10.0)
    assert (figures.latency_p50_ms, figures.latency_p99_ms) == (3.0, 3.0)
    assert (figures.rss_mb_start, figures.rss_mb_end) == (50.0, 100.0)


def test_figures_of_a_stretch_in_which_nothing_came() -> None:
    """There is no latency; that all is lost is said elsewhere."""
    look = Look((WorkerStatus(0),), 0)
    figures = Stretch((Published(0, 1_000_000_000, 1),), look, look).figures([])
    assert (figures.latency_p50_ms, figures.latency_p99_ms) == (0.0, 0.0)


def test_all_that_was_promised_came() -> None:
    """What came without a promise is neither lost nor a duplicate."""
    rolls = [roll({"a": [1, 3]}, p1=b"\0\1"), roll({"b": [1]}), roll(p0=b"\0\1\1\1"), roll()]
    assert (lost_of(ROLES, IDS, rolls), duplicates_of(rolls)) == (0, 0)


def test_what_its_subscriber_did_not_get_is_lost() -> None:
    """Though another peer got it; whether it is missing among others, behind the last one, or with all of them."""
    rolls = [roll({"a": [1, 2, 9]}), roll({"b": [1]}), roll(p0=b"\0\1\0"), roll(p0=b"\0\1\1", p1=b"\0\1")]
    assert lost_of(ROLES, IDS, rolls) == 3


def test_every_hand_over_after_the_first_is_a_duplicate() -> None:
    """Promised or not."""
    assert duplicates_of([roll(p0=b"\0\3\1"), roll(p1=b"\2")]) == 3
