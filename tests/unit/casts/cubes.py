"""A super-node in a cube, on the bench: its casts are real, its cluster is a fake that notes what it was asked."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Literal

from p2psub.casts.cast import Casts
from p2psub.casts.entrance import Entrances
from p2psub.casts.payload import Payload
from p2psub.casts.ways import Ways
from p2psub.model.content import Guarantee
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, Contact, NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages.casts import Answer, ChangeCast, ChangePayload, ChangeSummary, EventPayload, Summary
from p2psub.model.messages.pubsub import Want
from p2psub.model.places import Entry
from p2psub.model.ways import NO_WAY, Way
from p2psub.overlay.directory import Directory
from p2psub.overlay.election import Election
from p2psub.overlay.hypercube import Hypercube
from p2psub.overlay.liveness import Liveness
from tests.unit.bench import (
    CONFIG,
    at,
    change_of,
    epoch,
    event_of,
    forget,
    on_topic,
    parcel_of,
    sent,
    step_at,
    subscription_of,
)

CHANGE = ChangePayload(change_of(subscription_of(on_topic("x")), 1))
PARENT = at(200)
FOREIGN = CastId(PARENT.id, 1, 1)


class FakeLocal:
    """A cluster that notes what it was asked to do."""

    def __init__(self) -> None:
        self.taken: list[tuple[CastId, Payload, Prefix]] = []

    def take(self, cast: CastId, payload: Payload, part: Prefix) -> None:
        self.taken.append((cast, payload, part))

    def has_time(self, payload: Payload, open_ticks: int, open_us: int) -> bool:
        return open_ticks <= CONFIG.cube.cast_ticks_max


def cluster_at(prefix: str) -> ClusterId:
    """The cluster that owns a prefix."""
    return ClusterId(f"c{prefix}")


def leader_of(prefix: str) -> Contact:
    """The super-node of the cluster that owns a prefix."""
    return at(16 + int("1" + prefix, 2))


class Bench:
    """A super-node with prefix `own` in a cube of `prefixes`."""

    def __init__(
        self,
        own: str,
        prefixes: tuple[str, ...] = ("00", "01", "10", "11"),
        paths: Literal["neighbour", "load"] = "load",
    ) -> None:
        me = leader_of(own)
        self.step = step_at(me.id[0])
        self.directory, self.liveness = Directory(), Liveness(self.step, CONFIG.liveness)
        election = Election(self.step, CONFIG.cluster)
        election.lead(cluster_at(own))
        self.cube = Hypercube(self.step, CONFIG.cube, self.directory, election, self.liveness, tuple)
        self.cube.take_seat(is_founding=False)
        self.local = FakeLocal()
        self.slow: dict[NodeId, Way] = {}
        """What our links to some super-nodes take, with what waits for them."""
        self.ways = Ways(self.step, CONFIG.cube, self.directory)
        self.casts = Casts(
            self.step,
            CONFIG.cube,
            self.cube,
            self.directory,
            self.liveness,
            self.local,
            count(1),
            Entrances(
                replace(CONFIG.cube, paths=paths),
                self.cube,
                self.directory,
                self.liveness,
                self.ways,
                lambda node: self.slow.get(node, NO_WAY),
            ),
        )
        for prefix in prefixes:
            leader = leader_of(prefix)
            term = epoch(1, leader.id[0])
            self.directory.merge([Entry(cluster_at(prefix), Prefix(prefix), 1, leader, term, 1)])
        self.done: list[tuple[Summary, bool]] = []
        forget(self.step)

    def start(self, payload: Payload = CHANGE) -> CastId:
        """Start a cast and note how it ends."""
        return self.casts.start(payload, lambda summary, whole: self.done.append((summary, whole)))

    def ask(self, subcube: str, hops: int = 1, peer: Contact = PARENT) -> None:
        """A parent asks us to cover a subcube."""
        self.casts.on_cast(peer, ChangeCast(FOREIGN, Prefix(subcube), CHANGE, hops))

    def answer(self, cast: CastId, half: str, granted: int = 1) -> None:
        """The super-node there answers for a half."""
        self.casts.on_answer(leader_of(half), Answer(cast, Prefix(half), vote(half, granted=granted)))

    def kill(self, *prefixes: str) -> None:
        """Pronounce super-nodes dead."""
        self.liveness.watch_only([leader_of(prefix) for prefix in prefixes])
        for _ in range(CONFIG.liveness.unreachable_after_ticks):
            self.step.tick += 1
            self.liveness.tick([])
        assert all(self.liveness.is_dead(leader_of(prefix).id) for prefix in prefixes)
        sent(self.step)


def vote(*covered: str, granted: int = 1, refused: int = 0) -> ChangeSummary:
    """Votes of a subtree."""
    return ChangeSummary(tuple(map(Prefix, covered)), granted, refused, 0)


def multicast(*targets: str, guarantee: Guarantee = Guarantee.EFFECTIVELY_ONCE, body_bytes: int = 0) -> EventPayload:
    """An event for one subscription in each target cluster."""
    parcel = parcel_of(event_of("x", guarantee=guarantee, body=bytes(body_bytes)))
    ids = [subscription_of(on_topic("x"), int("1" + t, 2)).id for t in targets]
    wanted = [(cluster_at(t), Prefix(t), (Want(id_),), ()) for t, id_ in zip(targets, ids, strict=True)]
    return EventPayload(parcel, Micros(0), tuple(wanted))
