"""The roll tells which events came, how often, and how old they were."""

from __future__ import annotations

from pyroaring import BitMap

from p2psub.api.items import Gap, Notification
from p2psub.bench.content import EventLoad
from p2psub.bench.roll import Roll
from p2psub.model.reasons import Reason
from tests.unit.bench import node_at

ONE, TWO = node_at(1), node_at(2)


def test_events_are_told_apart_by_publisher_and_number() -> None:
    """What comes again is counted, and is not another event."""
    roll = Roll()
    first, second, third = [Notification(event) for event in EventLoad(3, ("t",)).events(ONE, 100)]
    (other,) = [Notification(event) for event in EventLoad(1, ("t",)).events(TWO, 100)]
    roll.note([third, first], 150)
    roll.note([other, first], 170)
    assert roll.consumed == {ONE.hex(): BitMap([1, 3]), TWO.hex(): BitMap([1])}
    assert (roll.events, roll.duplicates, roll.last_ns) == (3, 1, 170)
    assert roll.ages_ns == {50: 2, 70: 2}
    roll.note([second], 180)
    assert (roll.events, roll.duplicates) == (4, 1)


def test_every_hand_over_after_the_first_is_a_duplicate() -> None:
    """However often the event comes."""
    roll = Roll()
    (event,) = EventLoad(1, ("t",)).events(ONE, 0)
    roll.note([Notification(event)] * 300, 1)
    assert (roll.events, roll.duplicates) == (1, 299)


def test_a_gap_is_not_an_event() -> None:
    """What it tells of is missing from the roll."""
    roll = Roll()
    roll.note([Gap(3, Reason.CHANNEL_FULL)], 1)
    assert (roll.events, roll.consumed, roll.ages_ns) == (0, {}, {})


def test_many_events_take_little_memory() -> None:
    """A bit each, else the roll would show in the memory of the peer that is measured."""
    roll = Roll()
    for event in EventLoad(1 << 16, ("t",)).events(ONE, 0):
        roll.note([Notification(event)], event.id.sequence * 1_000_000)
    assert roll.events == 1 << 16
    assert len(roll.consumed[ONE.hex()].serialize()) * 8 < 1.1 * (1 << 16)
    assert len(roll.ages_ns) < 2_000
