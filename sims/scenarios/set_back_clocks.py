"""A schedule of a clock that is set back: a copy comes back too young, and meets one that knows its age."""

from __future__ import annotations

from random import Random

from p2psub.model.ids import EventId, NodeId
from p2psub.model.instants import SECOND_US
from p2psub.model.messages.pubsub import OwedHead
from p2psub.model.records import Kind, Record
from sims.engine.host import Host
from sims.engine.world import status_of
from sims.scenarios.stage import Stage

ELECTED_US = 12 * SECOND_US
"""A part of a ring that is cut off has a term of its own by then."""
SLICES = 8
"""What was handed over is remembered for an eighth longer than asked, at most (p2psub/parcels/remembered.py)."""


def holder_returns_too_young(stage: Stage, rng: Random) -> None:
    """Keep two holders of an event that was just handed over down for longer than it is paid; set one's clock back.

    They come back into a part of the ring in which nobody remembers the event, or took it. That part is cut off until
    its owner and its subscriber have forgotten it: only the copy of the other holder tells then how old it is.
    """
    owners: dict[EventId | None, NodeId] = {}
    holders: dict[EventId | None, list[NodeId]] = {}
    struck: list[EventId] = []

    def stored(_: int, record: Record) -> None:
        owners[record.event] = record.node

    def copied(_: int, record: Record) -> None:
        holders.setdefault(record.event, []).append(record.node)

    def delivered(_: int, record: Record) -> None:
        if record.event in owners and record.event in holders and not struck:
            stage.world.agenda.after(0, strike, record.event, record.node)

    def strike(event: EventId, subscriber: NodeId) -> None:
        owner = stage.world.network.host_of(owners[event])
        said = None if owner is None else status_of(owner)
        after = [] if said is None else [contact.id for contact in said.successors]
        found = [stage.world.network.host_of(node) for node in after if node in holders[event] and node != subscriber]
        hosts = [host for host in found if host is not None][:2]
        if struck or len(hosts) < 2 or not stage.saboteur.may_strike(hosts):
            return
        # The first after the owner owns the event where the owner is not: what it believes is paid.
        young, old = hosts
        if _held(young) and _held(young) <= _held(old):
            struck.append(event)
            _take_away(stage, rng, young, old, {owners[event], subscriber})

    stage.world.trace.hook(Kind.STORE, stored)
    stage.world.trace.hook(Kind.COPY, copied)
    stage.world.trace.hook(Kind.DELIVER, delivered)


def _held(host: Host) -> set[object]:
    """What a crash leaves on its disk, by name; what is left of one that was too slow to erase it counts, too."""
    return {head.id for head in host.disk.packs().heads.values() if isinstance(head, OwedHead)}


def _take_away(stage: Stage, rng: Random, young: Host, old: Host, knowing: set[NodeId]) -> None:
    """End both holders."""
    pubsub, away = stage.config.pubsub, [young, old]
    for host in away:
        stage.saboteur.down(host)
    down_us = pubsub.undelivered_ttl_us + SECOND_US
    young.skew_us -= down_us
    stage.world.agenda.after(down_us - ELECTED_US, _part, stage, rng, away, knowing)


def _part(stage: Stage, rng: Random, away: list[Host], knowing: set[NodeId]) -> None:
    """Cut some members off from those that know the event, and let its holders come back to them."""
    pubsub, cluster = stage.config.pubsub, away[0].cluster
    assert cluster is not None
    leader = stage.saboteur.super_node(cluster)
    said = None if leader is None else status_of(leader)
    # The part has a candidate, or the super-node: any other would look for changes that it cannot find there.
    able = set() if leader is None or said is None else {leader.id, *[candidate.id for candidate in said.candidates]}
    peers = stage.saboteur.peers(cluster)
    others = [host for host in peers if host.id not in knowing]
    rng.shuffle(others)
    side = sorted(others, key=lambda host: host.id not in able)[:2]
    pairs = [(one, other) for one in (*away, *side) for other in peers if other not in side]
    forgotten_us = pubsub.remembered_us + pubsub.remembered_us // SLICES + SECOND_US
    span_us = ELECTED_US + forgotten_us - pubsub.undelivered_ttl_us
    stage.saboteur.cut("holder_returns_too_young", pairs, span_us)
    for host in away:
        stage.world.agenda.after(ELECTED_US, stage.saboteur.back, host, tuple(mate.contact for mate in side))
