"""The publisher: sends what this process publishes to the owners of its topics, in parcels.

A promised event stays in the outbox until its owner has taken it; what promises nothing is sent once. Our table names
the owner of every key, so the first try needs no look-up. The table may be old: a member that is asked in vain names
the owners, and an owner that stays silent is looked for in the ring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from p2psub.admission.declarations import Declarations
from p2psub.admission.permits import Permits
from p2psub.config import PubSubConfig
from p2psub.model.ages import older
from p2psub.model.content import Advertisement, Guarantee
from p2psub.model.effects import PublishCommand, PublishReply
from p2psub.model.ids import Contact, EventId, Key, NodeId, Place, key_of_topic
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Acknowledge, NotOwner, ParcelToOwner, Predecessor, Publish
from p2psub.model.messages.ring import Found
from p2psub.model.outcomes import PublishOutcome
from p2psub.model.parcels import Parcel, ParcelId
from p2psub.model.place_sets import event_runs, from_bitmap, places_in
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.model.transmission import Transmission
from p2psub.model.ways import PartBytes
from p2psub.overlay.lookup import Lookups
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.shipment import by_topic, places_by_owner, places_of_indexes
from p2psub.parcels.trace_sampler import TraceSampler
from p2psub.publisher.advertisements import Advertisements
from p2psub.publisher.packer import Packed, Packer

_REDIRECTS_MAX: Final = 3
"""Two members that see different tables could send us back and forth; then the next tick is soon enough."""


@dataclass(slots=True, eq=False)
class _Turn:
    """The events of one topic in a parcel, in line with those of the other parcels in the outbox."""

    waiting: _Waiting
    places: int
    before: _Turn | None = None
    behind: _Turn | None = None

    @property
    def predecessor(self) -> _Turn | None:
        """The last before it of which an event waits.

        That may be far before: what came between has been acknowledged, or refused by an owner that lacks the former.
        """
        turn = self.before
        while turn is not None and not turn.places & turn.waiting.places:
            turn = turn.before
        return turn


@dataclass(slots=True, eq=False)
class _Waiting:
    """A parcel of which no owner has acknowledged every event yet."""

    parcel: Parcel
    commands: list[int]
    born_us: Micros
    sent_tick: int
    places: int
    """The events that are not acknowledged."""
    transmissions: list[Transmission] = field(default_factory=list)
    """What became of its parts at the last try."""
    turns: dict[str, _Turn] = field(default_factory=dict)
    """By topic."""
    tries: int = 0
    redirects: int = 0
    """How often we were sent on since the last tick."""


@dataclass(frozen=True, slots=True)
class PublisherStatus:
    """What a publisher shows of itself."""

    outbox: int
    advertisements: tuple[Advertisement, ...]


class Publisher:
    """All that this process publishes, and says it will publish."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        owner_of: Callable[[Key], Contact | None],
        lookups: Lookups,
        declarations: Declarations,
        permits: Permits,
        sealer: Sealer,
        sampler: TraceSampler,
        part_bytes: PartBytes,
    ) -> None:
        self._step = step
        self._config = config
        self._owner_of = owner_of
        self._lookups = lookups
        self._outbox: dict[int, _Waiting] = {}
        self._outbox_events = 0
        self._last_of_topic: dict[str, _Turn] = {}
        """Of the parcels in the outbox."""
        self.advertisements = Advertisements(step, declarations)
        self._packer = Packer(step, owner_of, permits, self.advertisements, sealer, sampler, part_bytes)

    def status(self) -> PublisherStatus:
        return PublisherStatus(self._outbox_events, self.advertisements.active())

    def awaits(self, owner: NodeId, published_us: Micros) -> bool:
        """Whether an event of then or before, of which our table names this owner, is not acknowledged yet."""
        # By topics, of which there are fewer than events: this is asked at every tick while the outbox may be full.
        named = [(topic, self._owner_of(key_of_topic(topic))) for topic in self._last_of_topic]
        topics = {topic for topic, contact in named if contact is not None and contact.id == owner}
        for waiting in self._outbox.values() if topics else ():
            if waiting.born_us > published_us:
                break
            for topic, turn in waiting.turns.items():
                if turn.places & waiting.places and topic in topics:
                    return True
        return False

    def publish(self, command: PublishCommand) -> None:
        """Take events of our own; they leave at the end of the step."""
        self._packer.add(command)

    def flush(self) -> None:
        """Send what was published in this step on its way."""
        if self._packer.is_empty:
            return
        for packed in self._packer.pack(self._config.outbox_events_max - self._outbox_events):
            if packed.parcel.guarantee is Guarantee.EFFECTIVELY_ONCE:
                self._promise(packed)
            else:
                self._send_once(packed)

    def _promise(self, packed: Packed) -> None:
        parcel, step = packed.parcel, self._step
        waiting = _Waiting(parcel, packed.commands, step.now, step.tick, parcel.places)
        self._line_up(waiting)
        self._outbox[parcel.number] = waiting
        self._outbox_events += len(parcel.events)
        if packed.owner is not None:
            self._send(waiting, parcel.places, packed.owner)
        else:
            self._look_up([waiting])

    def _line_up(self, waiting: _Waiting) -> None:
        """The events of a whole parcel are the last of their topics from now on."""
        for topic, indexes in by_topic(waiting.parcel.events).items():
            before = self._last_of_topic.get(topic)
            turn = _Turn(waiting, places_of_indexes(indexes, waiting.parcel), before)
            if before is not None:
                before.behind = turn
            self._last_of_topic[topic] = waiting.turns[topic] = turn

    def _send_once(self, packed: Packed) -> None:
        parcel = packed.parcel
        outcomes = [(n, PublishOutcome(e.id)) for n, e in zip(packed.commands, parcel.events, strict=True)]
        self._step.effects.append(PublishReply(outcomes))
        if packed.owner is None:
            self._step.record(Kind.DROP, reason=Reason.NO_OWNER, count=len(parcel.events))
        else:
            leaves = () if parcel.signature is None else packed.leaves
            self._step.send(packed.owner, ParcelToOwner(parcel, leaves))

    def _send(self, waiting: _Waiting, places: int, owner: Contact) -> None:
        waiting.sent_tick = self._step.tick
        waiting.tries += 1
        age = older(Micros(0), self._step.now - waiting.born_us)
        part, after = waiting.parcel.part(places), tuple(self._after(waiting))
        message = Publish(part, age, after, is_repeated=waiting.tries > 1)
        waiting.transmissions.append(self._step.send_followed(owner, message))

    def _after(self, waiting: _Waiting) -> Iterator[Predecessor]:
        """The last event before it on each of its topics that still waits."""
        for topic, turn in waiting.turns.items():
            earlier = turn.predecessor
            if earlier is not None:
                parcel, places = earlier.waiting.parcel, earlier.places & earlier.waiting.places
                yield Predecessor(topic, parcel.number, parcel.first.sequence + places.bit_length() - 1)

    def _look_up(self, several: list[_Waiting]) -> None:
        """Look for one of the keys that our table gives to one owner: a stranger to the others names their owners.

        One look-up for all parcels, so that they arrive in their order.
        """
        wanted: dict[Place, tuple[Key, dict[int, int]]] = {}
        for waiting in several:
            waiting.sent_tick = self._step.tick
            waiting.transmissions.clear()
            for owner, (key, places) in places_by_owner(waiting.parcel, self._owner_of).items():
                if places & waiting.places:
                    wanted.setdefault(key if owner is None else owner, (key, {}))[1][waiting.parcel.number] = places
        for key, parts in wanted.values():
            self._lookups.start(key, partial(self._send_to_found, parts))

    def _send_to_found(self, parts: dict[int, int], found: Found) -> None:
        """Send parts of parcels, by number and places, to the owner of their keys, and what comes after them.

        Go back N: an owner takes no event before its predecessor. What was sent meanwhile came too early. Repeated by a
        clock of its own each would do so again and again, for as long as more is published.
        """
        sent: dict[int, int] = {}
        for number, waiting in self._outbox.items():
            places = waiting.places & (parts.get(number, 0) | _places_behind(waiting, sent))
            if places:
                sent[number] = places
                self._send(waiting, places, found.successors[0])

    def _of(self, parcel: ParcelId) -> _Waiting | None:
        """One of ours; a late word on a parcel of our last incarnation is about another one."""
        is_ours = parcel.node == self._step.me.id and parcel.incarnation == self._step.incarnation
        return self._outbox.get(parcel.number) if is_ours else None

    def on_acknowledge(self, owner: Contact, acknowledged: Acknowledge) -> None:
        """The owner answers for these events from now on, or refuses to."""
        waiting = self._of(acknowledged.parcel)
        if waiting is None:
            return
        first = waiting.parcel.first
        outcomes: list[tuple[int, PublishOutcome]] = []
        for said in acknowledged.outcomes:
            if said.refused is Reason.DISK_FULL and waiting.tries > 1:
                # Another owner may have taken it, and its holders give back: it waits for room, or for that one's word.
                continue
            places = from_bitmap(said.bitmap, waiting.places)
            waiting.places &= ~places
            self._outbox_events -= places.bit_count()
            for event, run in event_runs(first, places):
                if said.refused is None:
                    copies, matched = said.copies, said.matched
                    self._step.record(
                        Kind.ACKNOWLEDGE, event=event, run=run, peer=owner.id, copies=copies, matched=matched
                    )
                else:
                    self._step.record(Kind.DROP, event=event, run=run, peer=owner.id, reason=said.refused)
            for place in places_in(places):
                id_ = EventId(first.node, first.incarnation, first.sequence + place)
                outcome = PublishOutcome(id_, said.copies, said.matched, said.refused)
                outcomes.append((waiting.commands[place], outcome))
        if not waiting.places:
            self._forget(waiting)
        if outcomes:
            self._step.effects.append(PublishReply(outcomes))

    def _forget(self, waiting: _Waiting) -> None:
        del self._outbox[waiting.parcel.number]
        for topic, turn in waiting.turns.items():
            before, behind = turn.before, turn.behind
            if before is not None:
                before.behind = behind
            if behind is not None:
                behind.before = before
            elif before is not None:
                self._last_of_topic[topic] = before
            else:
                del self._last_of_topic[topic]

    def on_not_owner(self, _: Contact, refused: NotOwner) -> None:
        """Other members are the owners: go there at once if we are told which, else look them up on the next try."""
        waiting = self._of(refused.parcel)
        if waiting is None:
            return
        waiting.redirects += 1
        if waiting.redirects <= _REDIRECTS_MAX:
            left = waiting.places
            for bitmap, owner in refused.owners:
                places = from_bitmap(bitmap, left)
                if owner is not None and places:
                    # An event goes to one owner, however many a liar names.
                    left &= ~places
                    self._send(waiting, places, owner)

    def tick(self) -> None:
        """Try again what was not acknowledged; a silent owner may have been replaced, so it is looked up."""
        due: list[_Waiting] = []
        for waiting in self._outbox.values():
            waiting.redirects = 0
            if self._is_due(waiting):
                due.append(waiting)
        if due:
            self._look_up(due)

    def _is_due(self, waiting: _Waiting) -> bool:
        """An answer is late for every part of it that left."""
        tick, patience, tries = self._step.tick, self._config.retry_ticks, waiting.tries
        if not waiting.transmissions:
            return tick - waiting.sent_tick >= patience
        return all(transmission.is_due(tick, patience, tries) for transmission in waiting.transmissions)


def _places_behind(waiting: _Waiting, sent: dict[int, int]) -> int:
    """The events of a parcel whose predecessors are among these, which are named by their parcels and places."""
    places = 0
    for turn in waiting.turns.values():
        earlier = turn.predecessor
        if earlier is not None and earlier.places & sent.get(earlier.waiting.parcel.number, 0):
            places |= turn.places
    return places
