"""Ranks drawn from event ids."""

from __future__ import annotations

from collections import Counter

from p2psub.model.ids import EventId, NodeId, Place
from p2psub.queueing.fix import RANKS, rank_of

NODE = NodeId(Place(bytes(range(20))))


def test_every_rank_is_drawn_as_often() -> None:
    """By the id alone, so every hop draws the same."""
    drawn = Counter(rank_of(EventId(NODE, 1, number)) for number in range(10_000))
    assert sorted(drawn) == list(range(1, RANKS + 1))
    assert all(1_900 < times < 2_100 for times in drawn.values())
    assert [rank_of(EventId(NODE, 1, number)) for number in range(6)] == [5, 1, 4, 3, 1, 5]
