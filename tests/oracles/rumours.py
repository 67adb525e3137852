"""Blind broadcasts told plainly: lists, loops and a queue; nothing of the arrays under test."""

from __future__ import annotations

from typing import NamedTuple


class Told(NamedTuple):
    """What became of a broadcast."""

    reached: int
    messages: int
    duplicates: int
    hops: int


def tell(
    links: list[list[int]], fanout: list[int] | None, rounds: int | None, root: int, dead: set[int]
) -> tuple[Told, list[int]]:
    """Round by round, sender by sender; also how often each node received."""
    heard_at = {root: 0}
    copies = [0] * len(links)
    messages = 0
    turn = [(root, -1)]
    round_ = 0
    while turn and (rounds is None or round_ < rounds):
        round_ += 1
        following: dict[int, int] = {}
        for sender, came_from in sorted(turn):
            others = [other for other in links[sender] if other != came_from]
            for other in others if fanout is None else others[: fanout[sender]]:
                messages += 1
                if other in dead:
                    continue
                copies[other] += 1
                if other not in heard_at:
                    heard_at[other] = round_
                    following[other] = sender
        turn = list(following.items())
    told = Told(len(heard_at), messages, sum(copies) - (len(heard_at) - 1), max(heard_at.values()))
    return told, copies
