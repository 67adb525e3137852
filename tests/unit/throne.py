"""A ruling super-node on the bench: the whole cube, or a part of it, and members whose answers a test gives by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from p2psub.admission.policy import Policy
from p2psub.config import NodeConfig
from p2psub.model.changes import Vector
from p2psub.model.content import Declaration
from p2psub.model.ids import Contact
from p2psub.model.messages import Message
from p2psub.model.messages.cluster import IndexHeld, IndexTransfer, InterestStored, StoreInterest, StreamHeld
from p2psub.model.messages.pubsub import Declare, Verdict
from p2psub.node.ruling import Ruling
from p2psub.pubsub.grants import Grants
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    cores_at,
    forget,
    make_durable,
    report_of,
    sent,
    told_myself,
)


class Throne:
    """The node at 1 rules the cluster, which is the whole overlay; its first table is in force."""

    def __init__(self, *members: int, policy: Policy | None = None, config: NodeConfig = CONFIG) -> None:
        self.cores = cores_at(1, policy, config)
        self.step = self.cores.step
        self.ruling = Ruling(self.cores, ())
        self.ruling.begin(CLUSTER, is_complete=True)
        self.cores.cube.found_overlay(CLUSTER)
        self.verdicts: list[Verdict] = []
        for place in members:
            self.cores.roster.report(*report_of(place))
        if members:
            self.rank(*members)
        self.tick()
        for place in members:
            self.hold_index(place)
        assert self.grants.table is not None
        forget(self.step)

    @property
    def grants(self) -> Grants:
        assert self.ruling.grants is not None
        return self.ruling.grants

    def rank(self, *members: int) -> None:
        """Let the roster rank its candidates."""
        for _ in range(4):
            self.cores.roster.tick()
        assert self.cores.roster.candidates == [at(place) for place in sorted(members)[: CONFIG.cluster.candidates]]

    def settle(self) -> None:
        """Let the disk write, and hear what was said to ourselves, until nothing is left to do."""
        hears: dict[type[Message], Callable[[Contact, Any], None]] = {
            IndexTransfer: self.cores.interests.on_index_transfer,
            IndexHeld: self.ruling.on_index_held,
            StoreInterest: self.cores.interests.on_store_interest,
            InterestStored: self.cores.settlement.on_interest_stored,
            Verdict: self._hear_verdict,
        }
        make_durable(self.step)
        while self.step.sends_to_me:
            message = self.step.sends_to_me.popleft()
            hears[type(message)](self.step.me, message)
            make_durable(self.step)

    def _hear_verdict(self, _: Contact, verdict: Verdict) -> None:
        self.verdicts.append(verdict)

    def tick(self, count: int = 1) -> None:
        """Let ticks of the reign pass; who has reported goes on to be heard."""
        for _ in range(count):
            self.step.now = type(self.step.now)(self.step.now + CONFIG.tick_us)
            self.grants.tick()
            self.cores.settlement.tick()
            self.cores.cube.tick()
            self.cores.casts.tick()
            self.settle()

    # What members say

    def subscribe(self, peer: int, record: Declaration) -> None:
        """A peer asks for a record."""
        self.ruling.on_declare(at(peer), Declare(record))

    def hold_index(self, place: int) -> None:
        version = self.grants.next_version
        if version is not None:
            self.ruling.on_index_held(at(place), IndexHeld(CLUSTER, version))
        self.settle()

    def hold_stream(self, place: int, vector: Vector | None = None, incarnation: int = 1) -> None:
        """A candidate holds the changes up to a vector; without one, all."""
        held = self.cores.changes.as_vector() if vector is None else vector
        self.cores.settlement.on_stream_held(at(place), StreamHeld(CLUSTER, self.grants.epoch, incarnation, held))

    def store_interest(self, place: int, store: StoreInterest, *, granted: bool = True) -> None:
        """An owner confirms a change."""
        said = InterestStored(store.cluster, store.epoch, store.change.number, granted, 0)
        self.cores.settlement.on_interest_stored(at(place), said)

    def verdicts_sent(self) -> list[tuple[Contact, Verdict]]:
        """Verdicts that went out since the last look; everything else is thrown away."""
        return [(to, message) for to, message in sent(self.step) if isinstance(message, Verdict)]

    def own_stores(self) -> list[StoreInterest]:
        """What the super-node asked itself to store."""
        return told_myself(self.step, StoreInterest)
