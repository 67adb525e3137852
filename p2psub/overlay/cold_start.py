"""After a whole cluster was down: members that come back tell each other so, with the last table they obeyed.

A member that comes back alone cannot know what the others decided, and waits. If every member of the last table is back
and hears no super-node either, then none leads: the succession begins at once, and the new super-node knows which
members it must hear to have all that the cluster ever answered for.
"""

from __future__ import annotations

from typing import Final

from p2psub.model.ids import Contact, NodeId
from p2psub.model.messages.cluster import Vacancy
from p2psub.model.places import Table
from p2psub.model.step import Step

_LISTENING_TICKS: Final = 6
"""Nothing is agreed before a super-node that lives on had the time to say so. A guess: three heartbeats."""

_FRESH_TICKS: Final = 8
"""A member that has not repeated it for so long may be down again, or follow a super-node.

A guess: three of four messages lost.
"""


class ColdStart:
    """What one member that came back from its disk has heard of the others."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._said: dict[NodeId, tuple[int, int]] = {}
        self.table: Table | None = None
        """The newest table that any of us has obeyed: the members that were there when all went down."""
        self.own_table: Table | None = None
        """The last table that we obeyed ourselves, before this process."""

    def recover(self, table: Table | None) -> None:
        """What our disk says."""
        self.table = self.own_table = table

    def hear(self, peer: Contact, said: Vacancy) -> None:
        """Another member is back: it may have obeyed a newer table."""
        self._said[peer.id] = (self._step.tick, said.incarnation)
        if self.table is None or said.table.version > self.table.version:
            self.table = said.table

    @property
    def is_agreed(self) -> bool:
        """Whether every member of the table is back and hears no super-node."""
        if self.table is None or self._step.tick < _LISTENING_TICKS:
            return False
        return all(self._is_fresh(owner.id) for owner in self.table.owners)

    def _is_fresh(self, node: NodeId) -> bool:
        return node == self._step.me.id or self._step.tick - self._said.get(node, (-_FRESH_TICKS, 0))[0] < _FRESH_TICKS

    def others(self) -> list[Contact]:
        """The members that the table names besides us."""
        return [] if self.table is None else [c for c in self.table.owners if c.id != self._step.me.id]

    def incarnation_of(self, node: NodeId) -> int | None:
        """The process of a member that came back with its disk."""
        return self._said[node][1] if node in self._said else None
