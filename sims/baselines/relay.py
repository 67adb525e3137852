"""A broker that broadcasts blindly, as a core for the simulator: flooding or gossip, message by message.

It writes the same records as our casts do, so that the same eyes count both.
"""

from __future__ import annotations

from random import Random

from p2psub.model.effects import Connect, Effect, Input, PublishCommand, Received, Transmit
from p2psub.model.ids import CastId, Contact
from p2psub.model.instants import Micros
from p2psub.model.messages import Message
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step


class Rumour(Message, frozen=True):
    """What is passed on."""

    id: CastId
    hops: int


class Relay:
    """Passes what is new on to the first `fanout` of its links but the one it came by; to all without a fanout."""

    def __init__(
        self, me: Contact, dials: list[Contact], links: list[Contact], fanout: int | None, rounds: int | None
    ) -> None:
        self._step = Step(me, 1, Random(0))
        self._dials = dials
        self._links = links
        self._fanout = fanout
        self._rounds = rounds
        self._known: set[CastId] = set()

    def step(self, inputs: list[Input], now: Micros) -> list[Effect]:
        """Dial at first; then start a broadcast when told to, and pass on what comes."""
        self._step.now = now
        self._step.effects += [Connect(contact) for contact in self._dials]
        self._dials = []
        for item in inputs:
            if isinstance(item, PublishCommand):
                self._start()
            elif isinstance(item, Received):
                for message in item.messages:
                    assert isinstance(message, Rumour)
                    self._hear(item.peer, message)
        return self._step.close()

    def _start(self) -> None:
        rumour = CastId(self._step.me.id, 1, 1)
        self._step.record(Kind.CAST, cast=rumour, payload=Rumour.__name__)
        self._known.add(rumour)
        self._pass_on(rumour, 1, None)

    def _hear(self, peer: Contact, heard: Rumour) -> None:
        is_new = heard.id not in self._known
        kind, reason = (Kind.RECEIVE, None) if is_new else (Kind.DUPLICATE, Reason.CAST_REPEATED)
        self._step.record(kind, cast=heard.id, peer=peer.id, hops=heard.hops, reason=reason)
        if is_new:
            self._known.add(heard.id)
            self._pass_on(heard.id, heard.hops + 1, peer)

    def _pass_on(self, rumour: CastId, hops: int, came_by: Contact | None) -> None:
        if self._rounds is not None and hops > self._rounds:
            return
        others = [contact for contact in self._links if contact != came_by]
        for contact in others[: self._fanout]:
            self._step.record(Kind.FORWARD, cast=rumour, peer=contact.id, tries=1)
            self._step.effects.append(Transmit(contact.id, [Rumour(rumour, hops)], self._step.stamp()))
