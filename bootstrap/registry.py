"""The rendezvous: remembers the directory that super-nodes announce, and tells it to whoever asks. Nothing else."""

from __future__ import annotations

from random import Random

from p2psub.config import NodeConfig
from p2psub.model.effects import Effect, Input, LinkLost, LinkReady, LinkUp, Received
from p2psub.model.ids import Contact
from p2psub.model.instants import Micros
from p2psub.model.messages.cube import DirectoryAsk, DirectorySay
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.model.step import Step
from p2psub.node.egress import Egress
from p2psub.overlay.directory import Directory
from p2psub.queueing.fcfs import FirstComeFirstServed


class RegistryCore:
    """Speaks the directory part of the cube's messages; every other message is ignored."""

    def __init__(self, me: Contact, incarnation: int, config: NodeConfig, rng: Random) -> None:
        self._step = Step(me, incarnation, rng)
        self._egress = Egress(self._step, config.egress, FirstComeFirstServed)
        self._directory = Directory()

    def step(self, inputs: list[Input], now: Micros) -> list[Effect]:
        """Advance by one batch of inputs; see `NodeCore.step`."""
        self._step.now = now
        for input_ in inputs:
            if isinstance(input_, Received):
                for message in input_.messages:
                    self._hear(input_.peer, message)
            elif isinstance(input_, LinkUp):
                self._egress.link_up(input_.peer, input_.credit)
            elif isinstance(input_, LinkReady):
                self._egress.link_ready(input_.peer, input_.credit)
            elif isinstance(input_, LinkLost):
                self._egress.link_lost(input_.peer)
        self._egress.flush()
        return self._step.close()

    def _hear(self, peer: Contact, message: object) -> None:
        if isinstance(message, DirectorySay):
            self._directory.merge(message.entries)
        elif isinstance(message, DirectoryAsk):
            self._step.send(peer, DirectorySay(self._directory.entries()))
        elif isinstance(message, Ping):
            self._step.send(peer, Pong())
