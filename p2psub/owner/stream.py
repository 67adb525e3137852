"""What one owner's process owes to one subscription, in line: a number for everything that leaves, without gaps.

A delivery is numbered when it leaves, and stays the same set of events, or a part of it, however often it is repeated:
so the subscriber can say with one number what it has taken. No more leaves than its channel has room for.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from p2psub.model.ids import ClusterId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import OwedParcelId, StreamAck
from p2psub.model.place_sets import first_places, union_of
from p2psub.model.transmission import Transmission

_ROOM_AT_FIRST: Final = 256
"""Events that leave before the subscriber has said how many its channel takes. A guess: one parcel."""
_NEVER_US: Final = 1 << 62
_IN_FLIGHT_EVENTS_MAX: Final = 16_384
_IN_FLIGHT_BYTES_MAX: Final = 4 * 1024 * 1024
"""However much room there is: an eighth of what a link's queue takes."""


class Delivery:
    """Events of a parcel that left together under one number, as far as they have no outcome yet."""

    __slots__ = ("event_bytes", "id", "is_refused", "number", "places", "sent_tick", "transmission", "tries")

    def __init__(self, number: int, id_: OwedParcelId, places: int, event_bytes: int, tick: int) -> None:
        self.number = number
        self.id = id_
        self.places = places
        self.event_bytes = event_bytes
        self.sent_tick = tick
        self.transmission: Transmission | None = None
        """What became of the message that it went in last; none while its events are read from the store."""
        self.tries = 1
        self.is_refused = False
        """Whether the channel had no room for it: it is not on its way, and waits for room."""


class Stream:
    """One subscription, as the owner sees it."""

    __slots__ = (
        "_in_flight_bytes",
        "_in_flight_events",
        "_in_line",
        "_numbers",
        "cluster",
        "due_tick",
        "full_from_us",
        "full_until_us",
        "is_ordered",
        "last_number",
        "probes",
        "room",
        "sent",
        "serial",
        "subscription",
        "used_tick",
        "waiting",
    )

    def __init__(self, subscription: SubscriptionId, cluster: ClusterId, is_ordered: bool, last_number: int) -> None:
        self.subscription = subscription
        self.cluster = cluster
        self.is_ordered = is_ordered
        self.last_number = last_number
        """The last that was given. A stream that is made anew goes on above all numbers of the process."""
        self.waiting: deque[tuple[OwedParcelId, int]] = deque()
        """What has not left yet, in the order in which it will: of one parcel maybe at several places in line."""
        self._in_line: dict[OwedParcelId, int] = {}
        """All of it by parcel."""
        self.sent: dict[int, Delivery] = {}
        """What left and is not settled, by rising numbers."""
        self._numbers: dict[OwedParcelId, list[int]] = {}
        self._in_flight_events = 0
        self._in_flight_bytes = 0
        self.room = _ROOM_AT_FIRST
        self.full_from_us = self.full_until_us = 0
        """When we heard that the channel had no room, and that it had some again."""
        self.serial = 0
        """Of the last acknowledgement: a later one may overtake it."""
        self.probes = 0
        """How often we tried in vain whether a full channel has room."""
        self.due_tick = 0
        """When to look at it next; 0 if never."""
        self.used_tick = 0
        """When something was sent by it last."""

    @property
    def is_idle(self) -> bool:
        return not self.waiting and not self.sent

    @property
    def is_stopped(self) -> bool:
        """Whether nothing is on its way although something is owed."""
        return self._in_flight_events == 0 and not self.is_idle

    @property
    def settled(self) -> int:
        """Up to which number everything is."""
        return next(iter(self.sent)) - 1 if self.sent else self.last_number

    def fits(self, event_bytes: int) -> int:
        """How many more events of that size may leave."""
        room = min(self.room, _IN_FLIGHT_EVENTS_MAX) - self._in_flight_events
        if self._in_flight_events and self._in_flight_bytes + event_bytes * room > _IN_FLIGHT_BYTES_MAX:
            room = (_IN_FLIGHT_BYTES_MAX - self._in_flight_bytes) // event_bytes
        return max(0, room)

    def take_ack(self, ack: StreamAck, now: Micros) -> None:
        """Hear how much room there is, unless a later word on that has come before."""
        if ack.serial > self.serial:
            self.serial, self.room = ack.serial, ack.room
            if ack.room:
                self.probes = 0
                self.full_until_us = min(self.full_until_us, now)
            elif self.full_until_us != _NEVER_US:
                self.full_from_us, self.full_until_us = now, _NEVER_US

    def had_no_room(self, at_us: int) -> bool:
        """Whether the channel was full then, as far as it told us last."""
        return self.full_from_us <= at_us < self.full_until_us

    # In line

    def push(self, id_: OwedParcelId, places: int) -> None:
        """Put what is owed last in line, unless it is there or on its way.

        Not beside other events of its parcel that wait: what came between may be of the same topic, and before it.
        """
        in_line = self._in_line.get(id_, 0)
        places &= ~in_line
        for number in self._numbers.get(id_, ()):
            places &= ~self.sent[number].places
        if places:
            self.waiting.append((id_, places))
            self._in_line[id_] = in_line | places

    @property
    def head(self) -> tuple[OwedParcelId, int]:
        """What is first in line."""
        return self.waiting[0]

    def drop_head(self, places: int) -> None:
        """Some of what is first in line waits no more."""
        id_, whole = self.waiting.popleft()
        if whole != places:
            self.waiting.appendleft((id_, whole & ~places))
        self._in_line[id_] &= ~places
        if not self._in_line[id_]:
            del self._in_line[id_]

    # On its way

    def send_head(self, places: int, event_bytes: int, tick: int) -> Delivery:
        """Give the next number to some of what is first in line."""
        id_, _ = self.head
        self.drop_head(places)
        self.last_number += 1
        self.used_tick = tick
        delivery = Delivery(self.last_number, id_, places, event_bytes, tick)
        self.sent[delivery.number] = delivery
        self._numbers.setdefault(id_, []).append(delivery.number)
        self._count(delivery, places, 1)
        return delivery

    def _count(self, delivery: Delivery, places: int, sign: int) -> None:
        if not delivery.is_refused:
            events = sign * places.bit_count()
            self._in_flight_events += events
            self._in_flight_bytes += events * delivery.event_bytes

    def on_its_way(self, id_: OwedParcelId) -> int:
        """The events of a parcel that left and were neither answered for nor sent back."""
        sent = [self.sent[number] for number in self._numbers.get(id_, ())]
        return union_of(delivery.places for delivery in sent if not delivery.is_refused)

    def refuse(self, id_: OwedParcelId, places: int) -> None:
        """The channel has no room for these events: they wait for it."""
        for number in self._numbers.get(id_, ()):
            delivery = self.sent[number]
            if delivery.places & places:
                self._count(delivery, delivery.places, -1)
                delivery.is_refused = True

    def shorten(self, delivery: Delivery, count: int) -> None:
        """Of a refused delivery leave as many events as there is room for: the others are the first in line again.

        An ordered one stays whole if another left after it, which would overtake them.
        """
        rest = delivery.places & ~first_places(delivery.places, count)
        if rest and not (self.is_ordered and delivery.number != next(reversed(self.sent))):
            delivery.places ^= rest
            self.waiting.appendleft((delivery.id, rest))
            self._in_line[delivery.id] = self._in_line.get(delivery.id, 0) | rest

    def repeat(self, delivery: Delivery, tick: int) -> None:
        """It is on its way once more."""
        if delivery.is_refused:
            delivery.is_refused = False
            self._count(delivery, delivery.places, 1)
        delivery.sent_tick, delivery.transmission = tick, None

    def settle(self, id_: OwedParcelId, places: int) -> None:
        """These events have an outcome, or are not ours to send any more."""
        for number in list(self._numbers.get(id_, ())):
            delivery = self.sent[number]
            settled = delivery.places & places
            if settled:
                self._count(delivery, settled, -1)
                delivery.places ^= settled
                if not delivery.places:
                    self._forget(delivery)

    def _forget(self, delivery: Delivery) -> None:
        del self.sent[delivery.number]
        numbers = self._numbers[delivery.id]
        numbers.remove(delivery.number)
        if not numbers:
            del self._numbers[delivery.id]

    def taken(self, ack: StreamAck) -> list[Delivery]:
        """The deliveries on their way that a subscriber says it has taken."""
        beyond = int.from_bytes(ack.beyond, "little")
        found: list[Delivery] = []
        for number, delivery in self.sent.items():
            ahead = number - ack.contiguous - 1
            if ahead >= 0 and not beyond >> ahead:
                break
            if ahead < 0 or beyond >> ahead & 1:
                found.append(delivery)
        return found
