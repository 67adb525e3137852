"""Broadcasts through simulated nodes: our casts through real ones, flooding and gossip through relays.

Links have latencies, so who hears first from whom is a matter of time, not of rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np
from numpy.typing import NDArray

from p2psub.model.content import Draft
from p2psub.model.effects import PublishCommand
from p2psub.model.ids import Contact
from p2psub.model.instants import SECOND_US
from sims.baselines.blind import Blind, Spread
from sims.baselines.relay import Relay
from sims.engine.host import Host
from sims.engine.placement import contact_for
from sims.engine.world import World
from sims.scenarios.casts_seen import Cast, casts_in
from sims.scenarios.cube import Cube

DIAL_US = SECOND_US
SETTLED_US = 4 * SECOND_US
"""With all super-nodes alive a broadcast takes a few hops of at most 70 ms."""
RETRIES_US = 50 * SECOND_US
"""With some of them dead senders wait for custody and try others, for 30 s each; clusters are given up after 60 s."""


def simulated_cast(seed: int, root: int, live: NDArray[np.bool_]) -> Spread:
    """A subscription's way from one of the real super-nodes of a settled cube, some of which have just crashed."""
    cube = Cube(len(live), seed)
    hosts = cube.peers
    _crash(cube.stage.world, hosts, live)
    before = len(cube.casts())
    cube.subscribe(hosts[root], "anything")
    cube.run_for(SETTLED_US if live.all() else RETRIES_US)
    # What is not answered is cast anew; the first one is what we look at.
    return _spread_of(list(cube.casts().values())[before])


def simulated_blind(blind: Blind, seed: int, root: int, live: NDArray[np.bool_]) -> Spread:
    """A broadcast from one of the relays, some of which have just crashed."""
    world = World(seed)
    hosts = _relays(world, blind)
    for host in hosts:
        world.start(host)
    world.run_for(DIAL_US)
    _crash(world, hosts, live)
    # Relays have no timers: without something due, the world would stand still.
    world.agenda.after(0, world.command, hosts[root], PublishCommand(1, [Draft("anything")]))
    world.run_for(SETTLED_US)
    (cast,) = casts_in(record for _, record in world.trace.entries).values()
    return _spread_of(cast)


def _relays(world: World, blind: Blind) -> list[Host]:
    nodes = range(blind.links.nodes)
    known = [contact_for(world.seed, f"relay {node}") for node in nodes]
    receivers = [blind.links.of(node) for node in nodes]
    # Of two that know each other the first one dials.
    pairs = {(min(one, other), max(one, other)) for one in nodes for other in receivers[one]}

    def birth(
        host: Host, rng: Random, disk: Mapping[str, Mapping[tuple[object, ...], object]], contacts: tuple[Contact, ...]
    ) -> Relay:
        own = host.index
        dials = [known[other] for one, other in sorted(pairs) if one == own]
        fanout = None if blind.fanout is None else int(blind.fanout[own])
        return Relay(host.contact, dials, [known[other] for other in receivers[own]], fanout, blind.rounds)

    return [world.add_host(contact, None, birth) for contact in known]


def _crash(world: World, hosts: list[Host], live: NDArray[np.bool_]) -> None:
    for host, is_live in zip(hosts, live, strict=True):
        if not is_live:
            world.crash(host, silent=True)


def _spread_of(cast: Cast) -> Spread:
    received = {node for node, _ in cast.received}
    assert len(received) == len(cast.received), "a node took a cast for new twice"
    return Spread(1 + len(received), len(cast.forwards), cast.duplicates, max((h for _, h in cast.received), default=0))
