"""The roll tells which events came, how often, and how old they were."""

from __future__ import annotations

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
    assert roll.times_consumed == {ONE.hex(): bytes([0, 2, 0, 1]), TWO.hex(): bytes([0, 1])}
    assert (roll.events, roll.last_ns) == (3, 170)
    assert list(roll.ages_ns) == [50, 50, 70, 70]
    roll.note([second], 180)
    assert roll.events == 4


def test_a_gap_is_not_an_event() -> None:
    """What it tells of is missing from the roll."""
    roll = Roll()
    roll.note([Gap(3, Reason.CHANNEL_FULL)], 1)
    assert (roll.events, roll.times_consumed, list(roll.ages_ns)) == (0, {}, [])


def test_an_event_that_never_ends_is_still_counted() -> None:
    """As often as a byte can say."""
    roll = Roll()
    (event,) = EventLoad(1, ("t",)).events(ONE, 0)
    roll.note([Notification(event)] * 300, 1)
    assert roll.times_consumed == {ONE.hex(): bytes([0, 255])}
