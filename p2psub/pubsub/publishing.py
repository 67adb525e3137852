"""The publisher's side: an outbox that holds every event until somebody is responsible for it.

Our table names the owner of every key, so the first try needs no look-up. The table may be old: whoever is asked in
vain says who owns the key, and an owner that stays silent is looked for in the ring.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from p2psub.config import PubSubConfig
from p2psub.model.content import Event, Guarantee, Timed, content_hash
from p2psub.model.effects import PublishCommand, Reply
from p2psub.model.ids import Contact, EventId, Key
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Acknowledge, NotOwner, Publish
from p2psub.model.messages.ring import Found
from p2psub.model.outcomes import PublishOutcome
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.overlay.lookup import Lookups
from p2psub.pubsub.sampling import Sampling

_REDIRECTS_MAX = 3
"""Two members that see different tables could send us back and forth; then the next tick is soon enough."""


class _Waiting(msgspec.Struct):
    """An event nobody has acknowledged yet."""

    event: Event
    key: Key
    command: int
    born_us: Micros
    sent_tick: int
    redirects: int = 0
    """How often we were sent on since the last tick."""


class Publishing:
    """Unacknowledged events."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        owner_of: Callable[[Key], Contact | None],
        lookups: Lookups,
        sampling: Sampling,
    ) -> None:
        self._step = step
        self._config = config
        self._owner_of = owner_of
        self._lookups = lookups
        self._sampling = sampling
        self._tick = 0
        self._sequence = 0
        self._outbox: dict[EventId, _Waiting] = {}

    def __len__(self) -> int:
        return len(self._outbox)

    def publish(self, command: PublishCommand) -> None:
        """Give the event its id for good and send it on its way."""
        self._sequence += 1
        id_ = EventId(self._step.me.id, self._step.incarnation, self._sequence)
        event = Event(id_, command.topic, command.attributes, command.body, command.retain_us, command.guarantee)
        if self._sampling.takes(event):
            self._step.record(Kind.PUBLISH, event=id_, digest=content_hash(event), published=event)
        else:
            self._sampling.count(Kind.PUBLISH)
        if len(self._outbox) >= self._config.outbox_events_max:
            self._step.record(Kind.DROP, event=id_, reason="outbox_full")
            self._step.effects.append(Reply(command.number, PublishOutcome(id_, 0, 0)))
            return
        waiting = _Waiting(event, event.key, command.number, self._step.now, self._tick)
        if event.guarantee is Guarantee.EFFECTIVELY_ONCE:
            self._outbox[id_] = waiting
        else:
            self._step.effects.append(Reply(command.number, PublishOutcome(id_, 0, 0)))
        owner = self._owner_of(waiting.key)
        if owner is not None:
            self._send(waiting, owner)
        else:
            self._look_up(waiting)

    def _send(self, waiting: _Waiting, owner: Contact) -> None:
        waiting.sent_tick = self._tick
        age = Micros(self._step.now - waiting.born_us)
        self._step.send(owner, Publish(Timed(waiting.event, age)))

    def _look_up(self, waiting: _Waiting) -> None:
        waiting.sent_tick = self._tick
        self._lookups.start(waiting.key, lambda found: self._send_to_found(waiting, found))

    def _send_to_found(self, waiting: _Waiting, found: Found) -> None:
        if waiting.event.id in self._outbox or waiting.event.guarantee is Guarantee.AT_MOST_ONCE:
            self._send(waiting, found.successors[0])

    def on_acknowledge(self, _: Contact, acknowledged: Acknowledge) -> None:
        outcome = acknowledged.outcome
        waiting = self._outbox.pop(outcome.event, None)
        if waiting is not None:
            self._step.record(Kind.ACKNOWLEDGE, event=outcome.event, copies=outcome.copies, count=outcome.matched)
            self._step.effects.append(Reply(waiting.command, outcome))

    def on_not_owner(self, _: Contact, refused: NotOwner) -> None:
        """Somebody else is responsible: go there at once if we are told who, else look it up on the next try."""
        waiting = self._outbox.get(refused.event)
        if waiting is None:
            return
        waiting.redirects += 1
        if refused.owner is not None and waiting.redirects <= _REDIRECTS_MAX:
            self._send(waiting, refused.owner)

    def tick(self) -> None:
        """Try again what was not acknowledged; a silent owner may have been replaced, so it is looked up."""
        self._tick += 1
        for waiting in list(self._outbox.values()):
            waiting.redirects = 0
            if self._tick - waiting.sent_tick >= self._config.retry_ticks:
                self._look_up(waiting)
