"""What is traced: every promised event whole, of the others a sample, and the number of the rest."""

from __future__ import annotations

from p2psub.model.content import Guarantee
from p2psub.model.records import Kind
from p2psub.parcels.trace_sampler import TraceSampler
from tests.unit.bench import event_of, records_of, step_at

FREE = Guarantee.AT_MOST_ONCE


def test_promised_event_is_always_traced() -> None:
    """The audit of the promise has to see each of them."""
    sampler = TraceSampler(step_at(1), 64)
    events = [event_of("t", n) for n in range(200)]
    assert sampler.sample(Kind.PUBLISH, events) == list(range(200))


def test_every_node_draws_the_same_sample_of_the_others() -> None:
    """So a sampled event's whole way can be followed."""
    one, other = TraceSampler(step_at(1), 4), TraceSampler(step_at(2), 4)
    events = [event_of("t", n, guarantee=FREE) for n in range(1, 13)]
    assert one.sample(Kind.PUBLISH, events) == [3, 7, 11]
    assert [n for n, event in enumerate(events) if other.sample(Kind.DELIVER, [event])] == [3, 7, 11]


def test_rest_is_counted_and_told_at_the_tick() -> None:
    """By kind, and once."""
    step = step_at(1)
    sampler = TraceSampler(step, 4)
    sampler.sample(Kind.PUBLISH, [event_of("t", n, guarantee=FREE) for n in (1, 2, 4)])
    sampler.sample(Kind.DELIVER, [event_of("t", 1, guarantee=FREE), event_of("t", 2)])
    sampler.sample(Kind.MATCH, [event_of("t", 4, guarantee=FREE)])
    sampler.tick()
    sampler.tick()
    told = [(r.kind, r.reason, r.count) for r in records_of(step, Kind.PUBLISH, Kind.DELIVER, Kind.MATCH)]
    assert told == [(Kind.PUBLISH, "untraced", 2), (Kind.DELIVER, "untraced", 1)]
