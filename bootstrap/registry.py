"""The rendezvous: remembers the directory that super-nodes announce and who is denied, and tells every node that asks.

While it knows of no cluster it lets one newcomer found the overlay, and no other until that one had its time: two
founders would make two overlays.
"""

from __future__ import annotations

from random import Random

from p2psub.config import NodeConfig
from p2psub.model.effects import DenyCommand, Effect, Input, LinkDrained, LinkLost, LinkUp, Received
from p2psub.model.ids import Contact, NodeId
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.messages.cube import DirectoryRequest, DirectoryResponse
from p2psub.model.messages.denials import DenyOffer, DenyResponse
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.model.step import Step
from p2psub.node.egress import Egress
from p2psub.overlay.denials import Denials
from p2psub.overlay.directory import Directory

FOUNDING_US = Micros(20 * SECOND_US)
"""How long a founder has to announce its cluster before another is let. A guess: formation takes a few seconds."""


class RegistryCore:
    """Speaks the directory part of the cube's messages, and of the deny list; every other message is ignored.

    No node may found before the instant `founding_from_us`: after a restart an overlay that lives on needs time to be
    heard of. None: never.
    """

    def __init__(
        self,
        me: Contact,
        incarnation: int,
        config: NodeConfig,
        rng: Random,
        *,
        founding_from_us: Micros | None = None,
        denials: DenyResponse | None = None,
    ) -> None:
        self._step = Step(me, incarnation, rng)
        self._egress = Egress(self._step, config.egress, config.tick_us)
        self._directory = Directory()
        # No node has news of denials for the authority's own bootstrap.
        self._denials = Denials(self._step, lambda _: False, denials)
        self._founding_from_us = founding_from_us
        self._founder: tuple[NodeId, Micros] | None = None

    @property
    def directory(self) -> Directory:
        """The clusters it was told of."""
        return self._directory

    def step(self, inputs: list[Input], now: Micros) -> list[Effect]:
        """Advance by one batch of inputs; see `NodeCore.step`."""
        self._step.now = now
        for input_ in inputs:
            if isinstance(input_, Received):
                for message in input_.messages:
                    self._hear(input_.peer, message)
            elif isinstance(input_, LinkUp):
                self._egress.link_up(input_)
                self._denials.link_up(input_.peer)
            elif isinstance(input_, LinkDrained):
                self._egress.link_drained(input_)
            elif isinstance(input_, LinkLost):
                self._egress.link_lost(input_.peer)
                self._denials.link_lost(input_.peer)
            elif isinstance(input_, DenyCommand):
                self._denials.learn(input_.denials)
        self._egress.flush()
        return self._step.close()

    def _hear(self, peer: Contact, message: object) -> None:
        if isinstance(message, DirectoryResponse):
            self._directory.merge(message.entries)
            told = Directory()
            told.merge(message.entries)
            if told.digest != self._directory.digest:
                # Clusters that were apart find each other here.
                self._step.send(peer, DirectoryResponse(self._directory.entries()))
        elif isinstance(message, DirectoryRequest):
            self._step.send(peer, DirectoryResponse(self._directory.entries(), self._may_found(peer.id)))
        elif isinstance(message, DenyOffer):
            self._denials.on_offer(peer, message)
        elif isinstance(message, Ping):
            self._step.send(peer, Pong())

    def _may_found(self, peer: NodeId) -> bool:
        starts = self._founding_from_us
        if starts is None or self._step.now < starts or self._directory.entries():
            return False
        # Asking again earns no more time: a node that may not lead, or will not, would keep all others from it.
        if self._founder is None or self._step.now >= self._founder[1]:
            self._founder = (peer, Micros(self._step.now + FOUNDING_US))
        return self._founder[0] == peer
