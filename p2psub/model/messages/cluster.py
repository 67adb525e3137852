"""Between a super-node and its members: heartbeats, elections, tables, and the replication to candidates."""

from __future__ import annotations

from typing import ClassVar

from p2psub.model.changes import LOG_BYTES, Change, ChangeNumber, Vector
from p2psub.model.ids import ClusterId, Contact, Epoch, Natural, NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages.base import SMALL, Lane, Message
from p2psub.model.places import Entry, Table, TableVersion
from p2psub.model.weights import weight_of_change, weight_of_changes


class Heartbeat(Message, frozen=True):
    """A member to its super-node on every beat; `sent_us` is echoed, so that leases need no common clock."""

    lane: ClassVar[Lane] = Lane.LIVENESS
    cluster: ClusterId
    incarnation: int
    epoch: Epoch
    score: float
    in_ring: bool
    sent_us: Micros
    table: TableVersion | None
    lacks_index: bool
    applied: bytes
    directory: bytes
    leaving: bool = False
    """It is about to go gracefully: it gives away what it holds once a table gives its keys to others."""
    met: Table | None = None
    """The last table that it obeyed, while it obeys none of this term, which may not know all of those members."""
    met_lately: bool = False
    """It was told so less than a lease ago: hardly any member can have joined since."""


class HeartbeatAck(Message, frozen=True):
    """The super-node's answer: it leads, and the member's lease runs on. What the member has is left out."""

    lane: ClassVar[Lane] = Lane.LIVENESS
    cluster: ClusterId
    epoch: Epoch
    sent_us: Micros
    candidates: tuple[Contact, ...]
    small_ring: tuple[Contact, ...]
    table: Table | None
    table_version: TableVersion | None
    seen: Natural
    applied: Vector | None
    directory: tuple[Entry, ...]


class NotSuperNode(Message, frozen=True):
    """Answer to a heartbeat or request that reached a node that does not lead; names the super-node, if known."""

    cluster: ClusterId
    epoch: Epoch
    super_node: Contact | None


class Left(Message, frozen=True):
    """A member that holds nothing any more goes; said once, to the members it knows, so that they need not wait."""

    cluster: ClusterId


class Vacancy(Message, frozen=True):
    """A member is back from its disk and hears no super-node; to every member of its last table, on every beat.

    When all of them say so, none can lead, and the succession need not be patient.
    """

    lane: ClassVar[Lane] = Lane.LIVENESS
    cluster: ClusterId
    incarnation: int
    epoch: Epoch
    table: Table


class Takeover(Message, frozen=True):
    """A new term begins. Repeated by every `HeartbeatAck`."""

    cluster: ClusterId
    epoch: Epoch
    super_node: Contact


class ReplicateChanges(Message, frozen=True):
    """The change set, sent to a candidate before it is needed; repeated until `ChangesReplicated` says enough."""

    cluster: ClusterId
    epoch: Epoch
    changes: tuple[Change, ...]

    @property
    def weight(self) -> int:
        return SMALL + weight_of_changes(self.changes)


class ChangesReplicated(Message, frozen=True):
    """What this process of the candidate holds durably, without gaps."""

    cluster: ClusterId
    epoch: Epoch
    incarnation: int
    vector: Vector

    @property
    def weight(self) -> int:
        return SMALL + LOG_BYTES * len(self.vector)


class IndexTransfer(Message, frozen=True):
    """Every active subscription whose key lies in the arc that table `version` will give to the receiver.

    Sent in `parts` parts; parts of different attempts do not mix, since the set may have changed between them.
    """

    lane: ClassVar[Lane] = Lane.BULK
    cluster: ClusterId
    version: TableVersion
    arc_start: NodeId
    attempt: int
    part: int
    parts: int
    changes: tuple[Change, ...]

    @property
    def weight(self) -> int:
        return SMALL + weight_of_changes(self.changes)


class IndexStored(Message, frozen=True):
    """The receiver holds the transferred part of the match index."""

    cluster: ClusterId
    version: TableVersion


class StoreChange(Message, frozen=True):
    """A numbered change for the owner of its key; repeated on every beat until `ChangeStored`.

    `next` is the table under way: an index being transferred for it must not miss the change.
    """

    cluster: ClusterId
    epoch: Epoch
    change: Change
    next: TableVersion | None

    @property
    def weight(self) -> int:
        return SMALL + weight_of_change(self.change)


class ChangeStored(Message, frozen=True):
    """The owner's vote, and how many retained events match."""

    cluster: ClusterId
    epoch: Epoch
    number: ChangeNumber
    granted: bool
    retained: int


class ShardRequest(Message, frozen=True):
    """The topics' owner asks a wildcard shard's whether it is empty; asked again while it matters."""

    cluster: ClusterId
    shard: int
    asked_us: Micros


class ShardEmpty(Message, frozen=True):
    """It is, and leases the right to pass it over for a while from `asked_us`, by the asker's clock."""

    cluster: ClusterId
    shard: int
    asked_us: Micros
