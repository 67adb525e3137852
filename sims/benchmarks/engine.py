"""Cost of the simulator itself: microseconds per delivered message with a core that does nothing but answer.

python -m sims.benchmarks.engine
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from random import Random
from time import process_time

from p2psub.model.effects import Connect, Effect, Input, LinkUp, Received, SetTimer, TimerFired, Transmit
from p2psub.model.ids import Contact, NodeId
from p2psub.model.instants import SECOND_US, Micros, Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.liveness import Ping
from sims.engine.host import Host
from sims.engine.placement import cluster_named, contact_for
from sims.engine.world import World

NODES = 64
LINKS = 8
BEATS_PER_SECOND = 4
PING: list[Message] = [Ping()]


class Idle:
    """Pings all its links a few times a second, and ignores what it hears."""

    def __init__(self, contacts: tuple[Contact, ...], rng: Random) -> None:
        self.spent = 0.0
        self._contacts = contacts
        self._links: list[NodeId] = []
        self._phase = rng.randrange(SECOND_US // BEATS_PER_SECOND)
        self._started = False

    def step(self, inputs: list[Input], now: Micros) -> list[Effect]:
        """One step, timed, so that the core's own share can be taken off."""
        began = process_time()
        effects: list[Effect] = []
        if not self._started:
            self._started = True
            effects = [Connect(contact) for contact in self._contacts]
            effects.append(SetTimer(Micros(now + self._phase)))
        for item in inputs:
            kind = type(item)
            if kind is Received:
                continue
            if kind is TimerFired:
                effects += [Transmit(link, PING, Stamp(now, 0)) for link in self._links]
                effects.append(SetTimer(Micros(now + SECOND_US // BEATS_PER_SECOND)))
            elif isinstance(item, LinkUp):
                self._links.append(item.peer.id)
        self.spent += process_time() - began
        return effects


def main() -> None:
    """Print the engine's cost per message."""
    world = World(1)

    def birth(
        host: Host, rng: Random, disk: Mapping[str, Mapping[tuple[object, ...], object]], contacts: tuple[Contact, ...]
    ) -> Idle:
        return Idle(contacts, rng)

    hosts = [world.add_host(contact_for(1, f"n{n}"), cluster_named(n // 8), birth) for n in range(NODES)]
    for host in hosts:
        world.start(host, tuple(hosts[(host.index + n) % NODES].contact for n in range(1, LINKS // 2 + 1)))
    world.run_for(2 * SECOND_US)
    gc.disable()
    received = world.network.traffic.received
    cores = [host.core for host in hosts if isinstance(host.core, Idle)]
    own = sum(core.spent for core in cores)
    began = process_time()
    world.run_for(60 * SECOND_US)
    took = process_time() - began
    own = sum(core.spent for core in cores) - own
    messages = world.network.traffic.received - received
    per_node = messages / NODES / 60
    print(f"{messages:,} messages, {per_node:.0f} per node and second: {(took - own) / messages * 1e6:.2f} µs each")
    print(f"engine alone: {NODES * 60 / (took - own):,.0f} node x virtual seconds per CPU second at that rate")


if __name__ == "__main__":
    main()
