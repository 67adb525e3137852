"""The publisher: gives events their ids, and holds every promised one in an outbox until its owner has taken it.

Our table names the owner of every key, so the first try needs no look-up. The table may be old: a member that is asked
in vain names the owner, and an owner that stays silent is looked for in the ring. What promises nothing leaves in
parcels.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import msgspec

from p2psub.admission.declarations import Declarations
from p2psub.admission.permits import Permits
from p2psub.config import PubSubConfig
from p2psub.model.content import Advertisement, Draft, Event, Guarantee, Timed
from p2psub.model.digests import content_bytes, content_hash
from p2psub.model.effects import PublishCommand, Reply
from p2psub.model.ids import Contact, EventId, Key
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.messages.pubsub import Acknowledge, NotOwner, Publish
from p2psub.model.messages.ring import Found
from p2psub.model.outcomes import PublishOutcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.seals import BATCH_MAX, Seal
from p2psub.model.step import Step
from p2psub.overlay.lookup import Lookups
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.trace_sampler import TraceSampler
from p2psub.publisher.advertisements import Advertisements
from p2psub.publisher.parcel_sender import ParcelSender

_REDIRECTS_MAX: Final = 3
"""Two members that see different tables could send us back and forth; then the next tick is soon enough."""

_guarantee_of = attrgetter("guarantee")


@dataclass(slots=True)
class _Waiting:
    """An event that no owner has acknowledged yet."""

    event: Event
    key: Key
    command: int
    born_us: Micros
    sent_tick: int
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
    ) -> None:
        self._step = step
        self._config = config
        self._owner_of = owner_of
        self._lookups = lookups
        self._sealer = sealer
        self._fresh: list[_Waiting] = []
        self._sequence = 0
        self._outbox: dict[EventId, _Waiting] = {}
        self.advertisements = Advertisements(step, declarations)
        self._parcels = ParcelSender(step, owner_of, permits, self.advertisements, sealer, sampler)

    def status(self) -> PublisherStatus:
        return PublisherStatus(len(self._outbox), self.advertisements.active())

    def publish(self, command: PublishCommand) -> None:
        """Give the events their ids for good; they leave at the end of the step."""
        number = command.number
        for guarantee, run in itertools.groupby(command.drafts, _guarantee_of):
            events = [self._event(draft) for draft in run]
            if guarantee is Guarantee.AT_MOST_ONCE:
                self._step.effects.append(Reply(number, self._parcels.publish(events)))
            else:
                for number_of_event, event in enumerate(events, number):
                    self._promise(number_of_event, event)
            number += len(events)

    def _event(self, draft: Draft) -> Event:
        self._sequence += 1
        id_ = EventId(self._step.me.id, self._step.incarnation, self._sequence)
        retain_us = int(draft.retain_s * SECOND_US) if draft.retain_s else 0
        return Event(id_, draft.topic, draft.attributes, draft.body, retain_us, draft.guarantee)

    def _promise(self, number: int, event: Event) -> None:
        self._step.record(Kind.PUBLISH, event=event.id, digest=content_hash(event), published=event)
        refusal = self._refusal(event)
        if refusal is not None:
            self._step.record(Kind.DROP, event=event.id, reason=refusal)
            self._step.effects.append(Reply(number, (PublishOutcome(event.id, refused=refusal),)))
            return
        waiting = self._outbox[event.id] = _Waiting(event, event.key, number, self._step.now, self._step.tick)
        self._fresh.append(waiting)

    def _refusal(self, event: Event) -> Reason | None:
        if len(self._outbox) >= self._config.outbox_events_max:
            return Reason.OUTBOX_FULL
        return None if self.advertisements.keeps_rate(event) else Reason.ABOVE_RATE

    def flush(self) -> None:
        """Seal what was published in this step, and send it on its way."""
        if self._fresh:
            self._flush_promised()
        self._parcels.flush()

    def _flush_promised(self) -> None:
        fresh, self._fresh = self._fresh, []
        for first in range(0, len(fresh), BATCH_MAX):
            batch = fresh[first : first + BATCH_MAX]
            self._seal(batch)
            for waiting in batch:
                owner = self._owner_of(waiting.key)
                if owner is not None:
                    self._send(waiting, owner)
                else:
                    self._look_up(waiting)

    def _seal(self, batch: list[_Waiting]) -> None:
        tree = self._sealer.tree(content_bytes(waiting.event) for waiting in batch)
        signature = self._sealer.sign(tree)
        if tree is not None and signature is not None:
            for place, waiting in enumerate(batch):
                seal = Seal(signature, len(batch), place, tree.proof((place,)))
                waiting.event = msgspec.structs.replace(waiting.event, seal=seal)

    def _send(self, waiting: _Waiting, owner: Contact) -> None:
        waiting.sent_tick = self._step.tick
        age = Micros(self._step.now - waiting.born_us)
        self._step.send(owner, Publish(Timed(waiting.event, age)))

    def _look_up(self, waiting: _Waiting) -> None:
        waiting.sent_tick = self._step.tick
        self._lookups.start(waiting.key, lambda found: self._send_to_found(waiting, found))

    def _send_to_found(self, waiting: _Waiting, found: Found) -> None:
        if waiting.event.id in self._outbox:
            self._send(waiting, found.successors[0])

    def on_acknowledge(self, owner: Contact, acknowledged: Acknowledge) -> None:
        """The owner answers for the event from now on, or refuses to."""
        outcome = acknowledged.outcome
        waiting = self._outbox.pop(outcome.event, None)
        if waiting is None:
            return
        event, peer = outcome.event, owner.id
        if outcome.refused is None:
            copies, matched = outcome.copies, outcome.matched
            self._step.record(Kind.ACKNOWLEDGE, event=event, peer=peer, copies=copies, matched=matched)
        else:
            self._step.record(Kind.DROP, event=event, peer=peer, reason=outcome.refused)
        self._step.effects.append(Reply(waiting.command, (outcome,)))

    def on_not_owner(self, _: Contact, refused: NotOwner) -> None:
        """Another member is the owner: go there at once if we are told which, else look it up on the next try."""
        waiting = self._outbox.get(refused.event)
        if waiting is None:
            return
        waiting.redirects += 1
        if refused.owner is not None and waiting.redirects <= _REDIRECTS_MAX:
            self._send(waiting, refused.owner)

    def tick(self) -> None:
        """Try again what was not acknowledged; a silent owner may have been replaced, so it is looked up."""
        for waiting in list(self._outbox.values()):
            waiting.redirects = 0
            if self._step.tick - waiting.sent_tick >= self._config.retry_ticks:
                self._look_up(waiting)
