"""The bare stream: whole lists of events, however the bytes are cut."""

from __future__ import annotations

import trio
from trio.testing import memory_stream_pair

from p2psub.bench.content import EventLoad
from p2psub.bench.event_stream import WRITE_BYTES, EventStream, event_bytes, writes_of
from tests.unit.bench import node_at

EVENTS = EventLoad(1000, ("t",)).events(node_at(1), 0)


async def test_events_arrive_in_their_order() -> None:
    """Many frames at once, and one that is larger than a piece."""
    ours, theirs = memory_stream_pair()
    sender, receiver = EventStream(ours), EventStream(theirs)
    async with trio.open_nursery() as nursery:
        for part in (EVENTS[:1], EVENTS[1:3], EVENTS[3:]):
            await sender.send(part)
        nursery.start_soon(ours.aclose)
        received = [await receiver.receive() for _ in range(4)]
    assert received == [EVENTS[:1], EVENTS[1:3], EVENTS[3:], []]


def test_a_write_is_as_full_as_it_gets() -> None:
    """Nothing is left out, and one more event would not fit."""
    first, *others = writes_of(EVENTS)
    assert first + [event for write in others for event in write] == EVENTS
    assert len(first) == WRITE_BYTES // event_bytes(EVENTS[0])


def test_an_event_larger_than_a_write_goes_alone() -> None:
    """Rather than never."""
    events = EventLoad(2, ("t",), WRITE_BYTES).events(node_at(1), 0)
    assert writes_of(events) == [[events[0]], [events[1]]]
