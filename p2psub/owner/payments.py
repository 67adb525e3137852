"""Paying what is owed: a stream for every subscription, sent as its channel has room, repeated until it is settled.

Most subscriptions get an event as soon as it has its copies. An ordered one gets it in its turn: events are in line as
they were stored, one without its copies holds up those behind it, and after a new table all wait until the members have
given back what they held for us, and what they had published for us has come.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from p2psub.config import PubSubConfig
from p2psub.model.ids import ClusterId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import OwedParcelId, StreamAck
from p2psub.model.place_sets import first_places, lowest, part_of
from p2psub.model.places import TableVersion
from p2psub.model.step import Step
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.collection import Collection
from p2psub.owner.dispatch import Debt, Dispatch, Followed
from p2psub.owner.due_list import DueList
from p2psub.owner.held_parcel import HeldParcel, HeldStage
from p2psub.owner.owed_parcels import HeldPart, OwedParcels
from p2psub.owner.stream import Delivery, Stream
from p2psub.parcels.shipment import Shipment

_BACKOFF_MAX: Final = 5
_IDLE_TICKS: Final = 240
"""A stream that owes nothing for this long is forgotten. A guess: two minutes."""

_Batch = dict[HeldParcel, dict[int, list[Debt]]]
"""What leaves together: of events that are held together the debts, by which part of them goes in one message."""

Taken = tuple[OwedParcelId, SubscriptionId, int]
"""Events that a subscription has taken, or that come too late for it."""


class Payments:
    """The streams of this process."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        tick_us: Micros,
        arc_lease: ArcLease,
        owed_parcels: OwedParcels,
        dispatch: Dispatch,
        collection: Collection,
    ) -> None:
        self._step = step
        self._config = config
        self._tick_us = tick_us
        self._arc_lease = arc_lease
        self._owed_parcels = owed_parcels
        self._dispatch = dispatch
        self._collection = collection
        self._table: TableVersion | None = None
        self._streams: dict[SubscriptionId, Stream] = {}
        self._last_number = 0
        """The highest number of any stream of this process."""
        self._touched: dict[SubscriptionId, Stream] = {}
        self._looks: DueList[Stream] = DueList()
        self._ages: DueList[HeldParcel] = DueList()
        self._late: list[Taken] = []
        """What was to leave, but its time was over."""

    # In line

    def expect(self, held: HeldParcel) -> None:
        """We hold it as its owner from now on: ordered subscriptions get it after all that they are owed by now."""
        for id_ in held.ordered:
            cluster, places = held.owed.get(id_, ("", 0))
            if places:
                self._line_up(held, id_, ClusterId(cluster), places)

    def owe(self, held: HeldParcel) -> None:
        """It has its copies: pay it."""
        for id_, (cluster, places) in held.owed.items():
            self._line_up(held, id_, cluster, places)
        self._watch_age(held)
        self.flush()

    def _line_up(self, held: HeldParcel, id_: SubscriptionId, cluster: ClusterId, places: int) -> None:
        is_ordered = id_ in held.ordered
        if is_ordered and not self._collection.is_over:
            # All of it is lined up when the last member has given back, or now if there is no other.
            if self._table == self._arc_lease.version and self._collection.begin():
                self.collected()
            return
        stream = self._streams.get(id_)
        if stream is None:
            stream = self._streams[id_] = Stream(id_, cluster, is_ordered, self._last_number)
        stream.cluster = cluster
        stream.push(held.id, places)
        self._touched[id_] = stream

    def follow_table(self) -> None:
        """After a new table no order that we know counts any more: ordered subscriptions get new streams.

        What is on its way in the old ones counts as not sent: to settle what another owner sends from now on would let
        the subscriber go on to what came after it.
        """
        if self._table != self._arc_lease.version:
            self._table = self._arc_lease.version
            for stream in list(self._streams.values()):
                if stream.is_ordered:
                    del self._streams[stream.subscription]
                    continue
                for delivery in stream.sent.values():
                    if delivery.transmission is not None:
                        # Another super-node may lead, which has none of it.
                        delivery.transmission.doubt(self._step.tick)

    def collected(self) -> None:
        """All that is owed to ordered subscriptions under our keys is here: line it up, publisher by publisher."""
        ordered = [held for held in self._owed_parcels.log if held.ordered and self._arc_lease.is_mine(held.key)]
        for held in sorted(ordered, key=lambda held: held.first):
            self.expect(held)
        self.flush()

    # What became of it

    def settled(self, id_: OwedParcelId, subscription: SubscriptionId, places: int) -> None:
        """These events have an outcome for a subscription."""
        stream = self._streams.get(subscription)
        if stream is not None:
            stream.settle(id_, places)
            self._touched[subscription] = stream

    def refused(self, id_: OwedParcelId, subscription: SubscriptionId, places: int) -> None:
        """The subscription's channel has no room for these events."""
        stream = self._streams.get(subscription)
        if stream is not None:
            stream.refuse(id_, places)
            self._touched[subscription] = stream

    def had_no_room(self, subscription: SubscriptionId, at_us: int) -> bool:
        """Whether the subscription's channel was full at that instant."""
        stream = self._streams.get(subscription)
        return stream is not None and stream.had_no_room(at_us)

    def on_acks(self, acks: Iterable[StreamAck]) -> list[Taken]:
        """Subscribers say how far they are, and for how much they have room; returns what they have taken."""
        taken: list[Taken] = []
        for ack in acks:
            stream = self._streams.get(ack.subscription)
            # One that has more than ever left was lied to, and may have nothing.
            if stream is not None and ack.contiguous <= stream.last_number:
                taken += [(delivery.id, ack.subscription, delivery.places) for delivery in stream.taken(ack)]
                stream.take_ack(ack, self._step.now)
                self._touched[ack.subscription] = stream
        return taken

    def under_way(self, several: Iterable[tuple[SubscriptionId, int]]) -> None:
        """Our super-node is at these numbers still: to send them again would be in vain."""
        for id_, number in several:
            stream = self._streams.get(id_)
            delivery = None if stream is None else stream.sent.get(number)
            if delivery is not None and delivery.transmission is not None:
                delivery.transmission.confirm(self._step.tick)

    # Sending

    def flush(self) -> None:
        """Send what the streams that something happened to have room for."""
        if not self._touched:
            return
        batch: _Batch = {}
        touched, self._touched = self._touched, {}
        for stream in touched.values():
            self._advance(stream, batch)
        self._ship(batch)

    def _advance(self, stream: Stream, batch: _Batch) -> None:
        if stream.is_ordered and not self._collection.is_over:
            # Its order is not ours to keep, or not yet.
            return
        if stream.room and stream.sent:
            self._repeat_refused(stream, batch)
        while stream.waiting:
            id_, places = stream.head
            held, owed, unsafe = self._next_piece(stream, id_, places)
            if unsafe and stream.is_ordered:
                break
            if held is None:
                # It owes nothing; or it is not safe yet, and is put in line again when it is.
                stream.drop_head(places)
                continue
            if held.is_late_for(stream.subscription, self._step.now):
                stream.drop_head(owed)
                self._late.append((id_, stream.subscription, owed))
                continue
            fits = stream.fits(held.event_bytes)
            if not fits:
                break
            part = part_of(owed, self._part_events(stream, held))
            delivery = stream.send_head(first_places(part, fits), held.event_bytes, self._step.tick)
            self._last_number = max(self._last_number, delivery.number)
            self._add(batch, held, stream, delivery)
        self._look_later(stream)

    def _repeat_refused(self, stream: Stream, batch: _Batch) -> None:
        """The first of all goes in any case: an ordered subscription takes nothing that is on its way before it."""
        first = next(iter(stream.sent.values()), None)
        for delivery in [delivery for delivery in stream.sent.values() if delivery.is_refused]:
            fits = stream.fits(delivery.event_bytes)
            if delivery is first or fits:
                stream.shorten(delivery, max(1, fits))
                self._repeat(stream, delivery, batch)

    def _next_piece(self, stream: Stream, id_: OwedParcelId, places: int) -> tuple[HeldParcel | None, int, int]:
        """A piece of which something may be sent, what that is, and which events are not safe to send yet."""
        ready: HeldParcel | None = None
        owed = unsafe = 0
        for held in self._owed_parcels.log.pieces_at(id_, places):
            _, still = held.owed.get(stream.subscription, ("", 0))
            if still & places and self._arc_lease.is_mine(held.key):
                if held.stage is not HeldStage.COPIED:
                    unsafe |= still & places
                elif ready is None:
                    ready, owed = held, still & places
        return ready, owed, unsafe

    def _repeat(self, stream: Stream, delivery: Delivery, batch: _Batch) -> None:
        """Send it again under its number, as far as it is still owed and held in one piece, unless its time is over.

        A subscriber that took it in time has had as long to say so as any repetition waits.
        """
        held, owed, unsafe = self._next_piece(stream, delivery.id, delivery.places)
        if held is not None and held.is_late_for(stream.subscription, self._step.now):
            self._late.append((delivery.id, stream.subscription, owed))
            return
        stream.repeat(delivery, self._step.tick)
        if held is not None:
            rest = delivery.places & ~owed
            stream.settle(delivery.id, rest)
            stream.push(delivery.id, rest)
            self._add(batch, held, stream, delivery)
        elif not unsafe:
            stream.settle(delivery.id, delivery.places)

    def _part_events(self, stream: Stream, held: HeldParcel) -> int:
        """As many as a slow link takes at once, so that what is worth more need not wait for all of them."""
        return self._dispatch.part_bytes(stream.cluster, stream.subscription.node) // (held.event_bytes or 1) or 1

    def _add(self, batch: _Batch, held: HeldParcel, stream: Stream, delivery: Delivery) -> None:
        bid = held.bids.get(stream.subscription)
        debt = (stream.cluster, (stream.subscription, delivery.places, delivery.number, stream.settled, bid))
        part = lowest(delivery.places) // self._part_events(stream, held)
        batch.setdefault(held, {}).setdefault(part, []).append(debt)

    def _ship(self, batch: _Batch, again: bool = False) -> None:
        if batch:
            self._owed_parcels.with_parcels(batch, partial(self._send, batch, again))

    def _send(self, batch: _Batch, again: bool, several: list[HeldPart]) -> None:
        for held, parcel in several:
            if not self.is_overdue(held):
                for debts in batch[held].values():
                    self._follow(self._dispatch.send(Shipment(parcel), held.age_us(self._step.now), debts, again))

    def _follow(self, several: list[Followed]) -> None:
        for id_, number, transmission in several:
            stream = self._streams.get(id_)
            delivery = None if stream is None else stream.sent.get(number)
            if delivery is not None:
                delivery.transmission = transmission

    # Time

    def _watch_age(self, held: HeldParcel) -> None:
        """It is given up when it is too old, for a subscription that waits no longer as for all."""
        age_us = held.age_us(self._step.now)
        next_us = held.next_limit_us(age_us) if held.is_pressed else None
        ttl_us = self._config.undelivered_ttl_us
        left_us = max(0, (ttl_us if next_us is None else min(ttl_us, next_us)) - age_us)
        # Ever later: what is let go meanwhile is not kept in memory for long by standing here.
        later = max(self._config.redeliver_ticks, self._step.tick - held.taken_tick)
        held.age_tick = self._ages.put(self._step.tick + min(left_us // self._tick_us + 1, later), held)

    def overdue(self) -> list[HeldParcel]:
        """What has grown too old to be paid, to all or to some of those to whom it is owed."""
        due = [held for tick, held in self._ages.due(self._step.tick) if held.is_held and held.age_tick == tick]
        for held in due:
            self._watch_age(held)
        return [held for held in due if self.is_overdue(held) or self.late(held)]

    def late(self, held: HeldParcel) -> list[tuple[SubscriptionId, int]]:
        """What of it is owed in vain: its time is over, and it is not on its way, from where an answer may come."""
        is_ours_to_say = held.is_pressed and held.stage is HeldStage.COPIED
        late = held.late(self._step.now) if is_ours_to_say else []
        streams = [(id_, places, self._streams.get(id_)) for id_, places in late]
        vain = [(id_, places if s is None else places & ~s.on_its_way(held.id)) for id_, places, s in streams]
        return [(id_, places) for id_, places in vain if places]

    def take_late(self) -> list[Taken]:
        """What did not leave because its time was over; said once."""
        late, self._late = self._late, []
        return late

    def is_overdue(self, held: HeldParcel) -> bool:
        """Whether it is too old to be paid: its subscribers may have forgotten whether they got it."""
        return held.age_us(self._step.now) > self._config.undelivered_ttl_us

    def tick(self) -> None:
        """Repeat what was not answered, try again where there was no room."""
        again: _Batch = {}
        batch: _Batch = {}
        for tick, stream in self._looks.due(self._step.tick):
            if stream.due_tick == tick and self._streams.get(stream.subscription) is stream:
                stream.due_tick = 0
                self._tend(stream, again, batch)
        self._ship(again, again=True)
        self._ship(batch)

    def _tend(self, stream: Stream, again: _Batch, batch: _Batch) -> None:
        """Repeat what has been on its way for too long; ask a full channel whether it has room."""
        if stream.is_idle and self._step.tick - stream.used_tick >= _IDLE_TICKS:
            del self._streams[stream.subscription]
            return
        for delivery in list(stream.sent.values()):
            if not delivery.is_refused and self._is_due(delivery):
                delivery.tries += 1
                self._repeat(stream, delivery, again)
        if stream.is_stopped and not stream.room:
            stream.probes += 1
            stream.room = 1
        self._advance(stream, batch)

    def _is_due(self, delivery: Delivery) -> bool:
        """Its answer is late, counted from when it left; what waits is on its way however long that takes."""
        patience = self._patience(delivery.tries)
        if delivery.transmission is None:
            return self._step.tick >= delivery.sent_tick + patience
        return delivery.transmission.is_due(self._step.tick, patience, delivery.tries)

    def _due_tick(self, delivery: Delivery) -> int:
        """When to look at it: not before its answer may be late; and in a while if it was, for it waits or is lost."""
        due_tick = delivery.sent_tick + self._patience(delivery.tries)
        return due_tick if due_tick > self._step.tick else self._step.tick + self._config.retry_ticks

    def _patience(self, tries: int) -> int:
        return self._config.redeliver_ticks * min(tries, _BACKOFF_MAX)

    def _look_later(self, stream: Stream) -> None:
        """Look at it when its next delivery is due, or when it has been stopped for long; it may be sooner."""
        soonest = self._config.retry_ticks if stream.is_stopped else self._config.redeliver_ticks
        if 0 < stream.due_tick <= self._step.tick + soonest:
            return
        on_its_way = [self._due_tick(delivery) for delivery in stream.sent.values() if not delivery.is_refused]
        if on_its_way:
            tick = min(on_its_way)
        elif stream.is_idle:
            tick = self._step.tick + _IDLE_TICKS
        else:
            tick = self._step.tick + self._config.retry_ticks * min(stream.probes + 1, _BACKOFF_MAX)
        stream.due_tick = self._looks.put(tick, stream)
