"""How figures are made of what processes say."""

from __future__ import annotations

from p2psub.bench.bursts import Burst, make_burst, middle, p50_us, p99_us
from p2psub.bench.orders import Consumed, Published, WorkerStatus

BEFORE = {"p": WorkerStatus(1_000, bytes_out=10), "s": WorkerStatus(2_000, bytes_out=0)}
AFTER = {"p": WorkerStatus(1_500, bytes_out=1_010), "s": WorkerStatus(2_250, bytes_out=200)}


def burst(published: Published, *consumed: Consumed) -> Burst:
    """100 events were published, of which 90 are wanted."""
    return make_burst(100, 90, published, list(consumed), BEFORE, AFTER)


def test_a_burst_lasts_from_the_first_call_to_the_last_hand_over() -> None:
    """By the clock that all processes share; cost is spread over what was published."""
    made = burst(
        Published(1_000_000_000, 1_100_000_000), Consumed(40, 0, 2_900_000_000), Consumed(50, 0, 3_000_000_000)
    )
    assert (made.span_s, made.events_per_s) == (2.0, 50.0)
    assert (made.delivered, made.lost) == (90, 0)
    assert (made.cpu_us_per_event(), made.cpu_us_per_event("s")) == (7.5, 2.5)
    assert made.bytes_per_event == 12.0


def test_a_burst_is_over_when_all_calls_have_returned() -> None:
    """A promise may be kept before it is known to be."""
    assert burst(Published(0, 5_000_000_000), Consumed(90, 0, 4_000_000_000)).span_s == 5.0


def test_what_did_not_come_is_lost() -> None:
    """Announced as missing or not; even if nothing came at all."""
    made = burst(Published(0, 5_000_000_000), Consumed(0, 30, 0), Consumed(20, 0, 4_000_000_000))
    assert (made.delivered, made.lost, made.span_s) == (20, 70, 5.0)


def test_quantiles_are_of_the_values_there_are() -> None:
    """In microseconds."""
    spans_ns = [number * 1000 for number in range(1, 101)]
    assert (p50_us(spans_ns), p99_us(spans_ns)) == (50.5, 99.0)
    assert (p50_us([7_000]), p99_us([7_000])) == (7.0, 7.0)
    assert middle([3.0, 1.0, 2.004]) == 2.0
