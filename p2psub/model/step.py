"""The step under way: its instant, and what the cores have asked for so far.

Every core of a node holds the same `Step`. Cores ask to `send`; only the egress turns that into transmissions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from p2psub.model.books import BookSums
from p2psub.model.changes import ChangeNumber, Vector
from p2psub.model.clock import HybridClock
from p2psub.model.content import Advertisement, DeclarationState, Event, Guarantee, Subscription
from p2psub.model.effects import Effect, Pack, Persist, ReadPacks, Write
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, Contact, Epoch, EventId, NodeId, SubscriptionId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Message
from p2psub.model.outcomes import Outcome, VerdictStatus
from p2psub.model.places import Standing
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record
from p2psub.model.transmission import Transmission

Body = tuple[int, object | None]
"""A pack's number and its body, or None if that is missing or damaged."""


class Step:
    """Collects sends, writes, records and effects of one step; lives as long as the node."""

    __slots__ = (
        "_after_writes",
        "_erased_packs",
        "_erased_unread",
        "_erases_now",
        "_erasures",
        "_last_pack",
        "_packs",
        "_promises",
        "_reading",
        "_reads",
        "_reads_number",
        "_record_sequence",
        "_wall_offset_us",
        "_writes",
        "_writes_number",
        "clock",
        "disk_is_full",
        "effects",
        "followed",
        "incarnation",
        "me",
        "now",
        "rng",
        "sends",
        "sends_to_me",
        "tick",
    )

    def __init__(self, me: Contact, incarnation: int, rng: Random, wall_offset_us: int = 0, last_pack: int = 0) -> None:
        self.me = me
        self.incarnation = incarnation
        self.rng = rng
        self.now = Micros(0)
        self.tick = 0
        """Half heartbeats since the node started: what everything periodic counts in."""
        self.clock = HybridClock()
        self.disk_is_full = False
        """Whether the disk takes nothing at present: what is written waits, and is not durable until it does."""
        self.sends: list[tuple[Contact, Message]] = []
        self.followed: dict[int, Transmission] = {}
        """What becomes of some of them, by their place among the sends."""
        self.sends_to_me: deque[Message] = deque()
        self.effects: list[Effect] = []
        self._wall_offset_us = wall_offset_us
        self._record_sequence = 0
        self._writes: list[Write] = []
        self._erasures: list[Write] = []
        self._packs: list[Pack] = []
        self._erased_packs: list[int] = []
        self._erases_now = False
        self._last_pack = last_pack
        self._writes_number = 0
        self._after_writes: list[Callable[[], None]] = []
        self._promises: deque[tuple[int, list[Callable[[], None]]]] = deque()
        self._reads: list[ReadPacks] = []
        self._reads_number = 0
        self._reading: dict[int, tuple[int, Callable[[list[Body]], None]]] = {}
        self._erased_unread: dict[int, None] = {}
        """Packs that were erased while bodies are asked for: they are not missed."""

    def stamp(self) -> Stamp:
        """An instant of the hybrid clock for what happens now; no decision may rest on the wall clock in it."""
        return self.clock.tick(self.now + self._wall_offset_us)

    @property
    def wall_us(self) -> int:
        """This machine's wall clock, for what outlives a process; it says nothing about any other machine's."""
        return self.now + self._wall_offset_us

    def send(self, to: Contact, message: Message) -> None:
        """Ask the egress to get `message` to `to`; it may be lost, repeated or late.

        A node is its own neighbour in many protocols: what it says to itself is heard within the step.
        """
        if to.id == self.me.id:
            self.sends_to_me.append(message)
        else:
            self.sends.append((to, message))

    def send_followed(self, to: Contact, message: Message) -> Transmission:
        """The same for what is repeated until it is answered: the egress says when it leaves, or that it never does."""
        transmission = Transmission(self.tick)
        if to.id == self.me.id:
            self.sends_to_me.append(message)
        else:
            self.followed[len(self.sends)] = transmission
            self.sends.append((to, message))
        return transmission

    def write(self, namespace: str, name: tuple[object, ...], value: object) -> None:
        """Put a row into the store at the end of this step."""
        self._writes.append(Write(namespace, name, value))

    def erase(self, namespace: str, name: tuple[object, ...]) -> None:
        """Take a row out of the store, some time soon: a crash may bring it back."""
        # Behind what this very step has written, lest the erasure come first.
        (self._writes or self._erasures).append(Write(namespace, name, None))

    def erase_now(self) -> None:
        """Ask for the erasures at the end of this step, though it may write nothing."""
        self._erases_now = bool(self._erasures or self._erased_packs)

    def append(self, head: object, body: object) -> int:
        """Put a pack into the store's log at the end of this step; its number, above all that were ever given here."""
        self._last_pack += 1
        self._packs.append(Pack(self._last_pack, head, body))
        return self._last_pack

    def erase_pack(self, number: int) -> None:
        """Take a pack out of the log, some time soon: a crash may bring it back."""
        self._erased_packs.append(number)
        if self._reading:
            self._erased_unread[number] = None

    def read(self, packs: Sequence[int], then: Callable[[list[Body]], None]) -> None:
        """Ask for the bodies of packs that are not erased; `then` gets them in this order, in later steps.

        They come a page at a time: `then` is called again until all are answered. Ask for no more than there is room
        for.
        """
        assert packs, "nothing is asked for"
        self._reads_number += 1
        self._reads.append(ReadPacks(self._reads_number, list(packs)))
        self._reading[self._reads_number] = (len(packs), then)

    def when_durable(self, action: Callable[[], None]) -> None:
        """Do `action` once everything written so far, in this step too, is durable."""
        if self._is_writing:
            self._after_writes.append(action)
        elif self._promises:
            self._promises[-1][1].append(action)
        else:
            action()

    @property
    def _is_writing(self) -> bool:
        return bool(self._writes or self._packs or self._erases_now)

    def record(
        self,
        kind: Kind,
        cluster: ClusterId | None = None,
        epoch: Epoch | None = None,
        event: EventId | None = None,
        subscription: SubscriptionId | None = None,
        peer: NodeId | None = None,
        cast: CastId | None = None,
        number: ChangeNumber | None = None,
        vector: Vector | None = None,
        prefix: Prefix | None = None,
        reason: Reason | None = None,
        outcome: Outcome | None = None,
        count: int | None = None,
        run: int | None = None,
        age_us: int | None = None,
        earned: int | None = None,
        guarantee: Guarantee | None = None,
        matched: int | None = None,
        copies: int | None = None,
        digest: bytes | None = None,
        payload: str | None = None,
        hops: int | None = None,
        tries: int | None = None,
        status: VerdictStatus | None = None,
        state: DeclarationState | None = None,
        unreached: int | None = None,
        version: int | None = None,
        owners: int | None = None,
        standing: Standing | None = None,
        heartbeat_us: Micros | None = None,
        copies_required: int | None = None,
        published: Event | None = None,
        subscribed: Subscription | None = None,
        advertised: Advertisement | None = None,
        books: BookSums | None = None,
    ) -> None:
        """Write a trace record, numbered without gaps; callers name the fields."""
        self._record_sequence += 1
        # By place, not by name, and no argument above is by name only: records are the most frequent effect, and names,
        # or the defaults of such arguments, cost as much as all the rest.
        record = Record(
            kind,
            self.me.id,
            self.incarnation,
            self._record_sequence,
            self.clock.tick(self.now + self._wall_offset_us),
            cluster,
            epoch,
            event,
            subscription,
            peer,
            cast,
            number,
            vector,
            prefix,
            reason,
            outcome,
            count,
            run,
            age_us,
            earned,
            guarantee,
            matched,
            copies,
            digest,
            payload,
            hops,
            tries,
            status,
            state,
            unreached,
            version,
            owners,
            standing,
            heartbeat_us,
            copies_required,
            published,
            subscribed,
            advertised,
            books,
        )
        self.effects.append(record)

    def make_record(self, kind: Kind, **fields: Any) -> Record:
        """A trace record that the caller writes itself."""
        self.record(kind, **fields)
        made = self.effects.pop()
        assert isinstance(made, Record)
        return made

    def keep_promises(self, stored: int) -> None:
        """Do what waited for the writes up to `stored`."""
        while self._promises and self._promises[0][0] <= stored:
            for action in self._promises.popleft()[1]:
                action()

    def take_bodies(self, number: int, bodies: list[Body]) -> None:
        """Hand a page to the core that asked for it, and record what cannot be read."""
        left, then = self._reading.pop(number)
        if left > len(bodies):
            self._reading[number] = (left - len(bodies), then)
        unreadable = sum(1 for pack, body in bodies if body is None and pack not in self._erased_unread)
        if not self._reading:
            self._erased_unread.clear()
        if unreadable:
            self.record(Kind.DROP, reason=Reason.UNREADABLE, count=unreadable)
        then(bodies)

    def close(self) -> list[Effect]:
        """End the step: its writes become one Persist, and its effects are handed out."""
        if self._is_writing:
            self._writes_number += 1
            self.effects.append(self._persist())
            self._promises.append((self._writes_number, self._after_writes))
            self._after_writes = []
        if self._reads:
            # Behind the Persist: a step may read what it has appended.
            self.effects += self._reads
            self._reads = []
        effects, self.effects = self.effects, []
        return effects

    def _persist(self) -> Persist:
        writes = [*self._erasures, *self._writes]
        persist = Persist(self._writes_number, writes, self._packs, self._erased_packs)
        self._erasures, self._writes = [], []
        self._packs, self._erased_packs = [], []
        self._erases_now = False
        return persist
