"""What is published in a benchmark, and what is wanted of it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

import msgspec

from p2psub.model.circle import is_in_arc
from p2psub.model.content import Draft, Event, Guarantee, Value
from p2psub.model.ids import EventId, Key, NodeId, key_of_topic

AT_NS: Final = "at_ns"
"""The attribute that says when an event was made, by the clock that all processes of a machine share."""

PRICES: Final = 100
"""Different prices, each as frequent as any other: a filter for one of them matches 1 %."""

BODY_BYTES: Final = 115
"""With it an event of ours has 200 bytes."""


class EventLoad(msgspec.Struct, frozen=True):
    """Events to publish: they take the topics in turn, and the prices in turn on every topic."""

    count: int
    topics: tuple[str, ...]
    body_bytes: int = BODY_BYTES
    guarantee: Guarantee = Guarantee.AT_MOST_ONCE

    def drafts(self, at_ns: int) -> list[Draft]:
        """As an application writes them."""
        return [self.draft(number, at_ns) for number in range(self.count)]

    def draft(self, number: int, at_ns: int) -> Draft:
        """The event of this number, from 0; one that goes on after the last begins anew with topics and prices."""
        body = bytes(self.body_bytes)
        return Draft(self._topic(number), self._attributes(number, at_ns), body, 0.0, self.guarantee)

    def events(self, publisher: NodeId, at_ns: int) -> list[Event]:
        """As a node carries them."""
        return [
            Event(EventId(publisher, 1, number), draft.topic, draft.attributes, draft.body, 0, draft.guarantee)
            for number, draft in enumerate(self.drafts(at_ns), 1)
        ]

    def wanted(self, price: int) -> int:
        """How many of the events have this price."""
        return sum(self._price(number) == price for number in range(self.count))

    def _topic(self, number: int) -> str:
        return self.topics[number % len(self.topics)]

    def _price(self, number: int) -> int:
        return number // len(self.topics) % PRICES

    def _attributes(self, number: int, at_ns: int) -> dict[str, Value]:
        return {"price": self._price(number) + 0.5, AT_NS: at_ns}


def prices_of(subscribers: int) -> list[int]:
    """A price for each of some subscribers; the last one's is that of the last events, so that their way is timed."""
    return [(index + 1) * PRICES // subscribers - 1 for index in range(subscribers)]


def filter_for(topics: Sequence[str], price: int | None = None) -> str:
    """What a subscriber to these topics wants, to any topic if there are none; with a price, events of that alone."""
    parts = []
    if topics:
        parts.append("topic IN (" + ", ".join(f"'{topic}'" for topic in topics) + ")")
    if price is not None:
        parts.append(f"price >= {price} AND price < {price + 1}")
    return " AND ".join(parts)


def topics_of(owners: Sequence[NodeId], ring: Sequence[NodeId]) -> tuple[str, ...]:
    """A topic for each of these members of a ring, of which it owns the key; one that is named again gets another."""
    names = {owner: (f"quotes/{number}" for number in itertools.count()) for owner in owners}
    return tuple(next(name for name in names[owner] if owns(owner, key_of_topic(name), ring)) for owner in owners)


def owns(member: NodeId, key: Key, ring: Sequence[NodeId]) -> bool:
    """Whether a key is in the arc of a member of a ring."""
    members = sorted(ring)
    return is_in_arc(members[members.index(member) - 1], key, member)
