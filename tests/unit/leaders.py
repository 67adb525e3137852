"""A super-node on the bench, and members whose answers a test gives by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from p2psub.admission.policy import Policy
from p2psub.config import NodeConfig
from p2psub.model.changes import Vector
from p2psub.model.content import Declaration
from p2psub.model.ids import Contact
from p2psub.model.messages import Message
from p2psub.model.messages.cluster import ChangesReplicated, ChangeStored, IndexStored, IndexTransfer, StoreChange
from p2psub.model.messages.declarations import Declare, Verdict
from p2psub.node.leadership import Leadership
from p2psub.node.life_cycle import LifeCycle
from p2psub.super_node.table_grants import TableGrants
from p2psub.super_node.term import Term
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


class Leader:
    """The node at 1 leads the cluster, which is the whole overlay; its first table is in force."""

    def __init__(self, *members: int, policy: Policy | None = None, config: NodeConfig = CONFIG) -> None:
        self.cores = cores_at(1, policy, config)
        self.step = self.cores.step
        self.leadership = Leadership(self.cores, LifeCycle(), ())
        self.leadership.found_overlay(CLUSTER)
        self.verdicts: list[Verdict] = []
        for place in members:
            self.term.roster.note(*report_of(place))
        if members:
            self.rank(*members)
        self.tick()
        for place in members:
            self.hold_index(place)
        assert self.grants.table is not None
        forget(self.step)

    @property
    def term(self) -> Term:
        assert self.cores.office.term is not None
        return self.cores.office.term

    @property
    def grants(self) -> TableGrants:
        return self.term.grants

    def rank(self, *members: int) -> None:
        """Let the roster rank its candidates."""
        for _ in range(4):
            self.step.tick += 1
            self.term.roster.tick()
        assert self.term.roster.candidates == [at(place) for place in sorted(members)[: CONFIG.cluster.candidates]]

    def settle(self) -> None:
        """Let the disk write, and hear what was said to ourselves, until nothing is left to do."""
        hears: dict[type[Message], Callable[[Contact, Any], None]] = {
            IndexTransfer: self.cores.owner.match_index.on_index_transfer,
            IndexStored: self.leadership.on_index_stored,
            StoreChange: self.cores.owner.on_store_change,
            ChangeStored: self.term.confirmations.on_change_stored,
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
        """Let ticks of the term pass; who has reported goes on to be heard."""
        for _ in range(count):
            self.step.now = type(self.step.now)(self.step.now + CONFIG.tick_us)
            self.step.tick += 1
            self.grants.tick()
            self.term.tick()
            self.cores.cube.tick()
            self.term.casts.tick()
            self.settle()

    # What members say

    def subscribe(self, peer: int, record: Declaration) -> None:
        """A peer asks for a record."""
        self.term.on_declare(at(peer), Declare(record))

    def hear(self, place: int, incarnation: int = 1) -> None:
        """A member sends a heartbeat."""
        self.term.note_heartbeat(*report_of(place, incarnation=incarnation))

    def hold_index(self, place: int) -> None:
        version = self.grants.next_version
        if version is not None:
            self.leadership.on_index_stored(at(place), IndexStored(CLUSTER, version))
        self.settle()

    def hold_changes(self, place: int, vector: Vector | None = None, incarnation: int = 1) -> None:
        """A candidate holds the changes up to a vector; without one, all."""
        held = self.cores.changes.as_vector() if vector is None else vector
        self.term.on_changes_replicated(at(place), ChangesReplicated(CLUSTER, self.grants.epoch, incarnation, held))

    def store_change(self, place: int, store: StoreChange, *, granted: bool = True) -> None:
        """An owner confirms a change."""
        said = ChangeStored(store.cluster, store.epoch, store.change.number, granted, 0)
        self.term.confirmations.on_change_stored(at(place), said)

    def verdicts_sent(self) -> list[tuple[Contact, Verdict]]:
        """Verdicts that went out since the last look; everything else is thrown away."""
        return [(to, message) for to, message in sent(self.step) if isinstance(message, Verdict)]

    def own_stores(self) -> list[StoreChange]:
        """What the super-node asked itself to store."""
        return told_myself(self.step, StoreChange)
