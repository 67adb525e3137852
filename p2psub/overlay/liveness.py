"""Which peers are there: silence, suspicion, a second witness, a verdict.

A peer that is heard in any way is alive. Silence is counted in our own ticks, so a node that was itself asleep or slow
has counted none of the time it slept: our slowness stretches our timeouts and condemns no peer.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from p2psub.config import LivenessConfig
from p2psub.model.ids import Contact, NodeId
from p2psub.model.messages.liveness import Ping, Pong, WitnessRequest, WitnessResponse
from p2psub.model.step import Step

_NEVER: Final = -1


class Fate(enum.Enum):
    """What liveness decided about a silent peer."""

    DEAD = "dead"
    UNREACHABLE = "unreachable"
    """Silent towards us, though a witness hears it."""


@dataclass(slots=True)
class _Watch:
    contact: Contact
    heard_tick: int
    witnessed_tick: int = _NEVER
    fate: Fate | None = None
    is_heard: bool = False
    """Whether it has said anything since it is watched."""


class Liveness:
    """Watches a changing set of peers and pronounces each death once, until the peer is heard again."""

    def __init__(self, step: Step, config: LivenessConfig) -> None:
        self._step = step
        self._config = config
        self._peers: Sequence[Contact] = ()
        self._watched: dict[NodeId, _Watch] = {}
        self._askers: dict[NodeId, dict[NodeId, tuple[Contact, int]]] = {}

    def heard(self, peer: NodeId) -> None:
        """Take note that a peer said something."""
        watch = self._watched.get(peer)
        if watch is not None:
            watch.heard_tick = self._step.tick
            watch.fate = None
            watch.is_heard = True
        if self._askers:
            for asker, _ in self._askers.pop(peer, {}).values():
                self._step.send(asker, WitnessResponse(peer))

    def link_lost(self, peer: NodeId) -> None:
        """A lost link is a reason to suspect at once, not yet a death."""
        watch = self._watched.get(peer)
        if watch is not None:
            watch.heard_tick = min(watch.heard_tick, self._step.tick - self._config.suspect_after_ticks + 1)

    def watch_only(self, peers: Sequence[Contact]) -> None:
        """Watch exactly these peers from now on; those watched before keep their history, and their fate."""
        if peers == self._peers:
            return
        before, self._peers = self._watched, peers
        self._watched = {}
        for contact in peers:
            if contact.id != self._step.me.id:
                watch = self._watched[contact.id] = before.get(contact.id) or _Watch(contact, self._step.tick)
                # It may be back at another address.
                watch.contact = contact

    def is_dead(self, peer: NodeId) -> bool:
        """Whether a watched peer was pronounced dead or unreachable and has not been heard since."""
        watch = self._watched.get(peer)
        return watch is not None and watch.fate is not None

    def is_suspect(self, peer: NodeId) -> bool:
        """Whether a watched peer has been silent for too long to rely on it."""
        watch = self._watched.get(peer)
        return watch is not None and self._step.tick - watch.heard_tick >= self._config.ping_after_ticks

    def hears(self, peer: NodeId) -> bool:
        """Whether a watched peer has spoken since it is watched, and is not dead to us."""
        watch = self._watched.get(peer)
        return watch is not None and watch.is_heard and watch.fate is None

    def hears_anybody(self) -> bool:
        """Whether any watched peer has spoken and is not dead to us."""
        return any(watch.fate is None and watch.is_heard for watch in self._watched.values())

    def tick(self, witnesses: list[Contact]) -> list[tuple[Contact, Fate]]:
        """Count one tick of silence, ping, ask witnesses; return new verdicts."""
        config, tick = self._config, self._step.tick
        verdicts: list[tuple[Contact, Fate]] = []
        for watch in self._watched.values():
            silent = tick - watch.heard_tick
            if silent < config.ping_after_ticks:
                continue
            # Also the dead are pinged, but rarely: one that comes back must be heard.
            if watch.fate is None or tick % 8 == 0:
                self._step.send(watch.contact, Ping())
            if watch.fate is not None:
                continue
            if silent >= config.suspect_after_ticks:
                self._ask_witnesses(watch.contact, witnesses)
            if silent >= config.unreachable_after_ticks:
                watch.fate = Fate.UNREACHABLE
                verdicts.append((watch.contact, Fate.UNREACHABLE))
            elif silent >= config.dead_after_ticks and tick - max(watch.witnessed_tick, watch.heard_tick) >= 3:
                watch.fate = Fate.DEAD
                verdicts.append((watch.contact, Fate.DEAD))
        if self._askers and tick % 8 == 0:
            self._forget_old_questions()
        return verdicts

    def _ask_witnesses(self, suspect: Contact, witnesses: list[Contact]) -> None:
        able = [w for w in witnesses if w.id not in (suspect.id, self._step.me.id) and not self.is_suspect(w.id)]
        for witness in self._step.rng.sample(able, min(self._config.witnesses, len(able))):
            self._step.send(witness, WitnessRequest(suspect))

    def _forget_old_questions(self) -> None:
        for suspect, askers in list(self._askers.items()):
            fresh = {id_: (asker, asked) for id_, (asker, asked) in askers.items() if self._step.tick - asked < 8}
            if fresh:
                self._askers[suspect] = fresh
            else:
                del self._askers[suspect]

    def on_ping(self, peer: Contact, _: Ping) -> None:
        self._step.send(peer, Pong())

    def on_pong(self, peer: Contact, _: Pong) -> None:
        """Being heard is all a pong is for, and that is noted for every message."""

    def on_witness_request(self, peer: Contact, ask: WitnessRequest) -> None:
        """Say at once what was just heard; else ping the suspect and say so when it answers."""
        if ask.suspect.id == self._step.me.id:
            self._step.send(peer, WitnessResponse(ask.suspect.id))
            return
        watch = self._watched.get(ask.suspect.id)
        if watch is not None and watch.fate is None and self._step.tick - watch.heard_tick < 1:
            self._step.send(peer, WitnessResponse(ask.suspect.id))
            return
        self._askers.setdefault(ask.suspect.id, {})[peer.id] = (peer, self._step.tick)
        self._step.send(ask.suspect, Ping())

    def on_witness_response(self, _: Contact, say: WitnessResponse) -> None:
        watch = self._watched.get(say.suspect)
        if watch is not None:
            watch.witnessed_tick = self._step.tick
