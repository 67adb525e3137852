"""First come, first served."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Publish
from p2psub.queueing.discipline import Queued
from p2psub.queueing.fcfs import FirstComeFirstServed
from tests.unit.bench import event_of, parcel_of


def message(sequence: int) -> Publish:
    """Content that can be told apart."""
    return Publish(parcel_of(event_of("x", sequence)), Micros(0))


@given(st.lists(st.booleans(), max_size=40))
def test_content_leaves_in_the_order_it_came_each_once(pushes: list[bool]) -> None:
    """However pushes and pops alternate."""
    queue, pushed, popped = FirstComeFirstServed(), 0, 0
    since_us = [Micros(now) for now, push in enumerate(pushes) if push]
    for now, push in enumerate(pushes):
        if push:
            pushed += 1
            queue.push(Queued(message(pushed), 1, Micros(now), None), Micros(now))
        elif queue:
            popped += 1
            left = queue.pop(Micros(now))
            assert (left.message, left.since_us) == (message(popped), since_us[popped - 1])
        assert len(queue) == pushed - popped
