"""Whether everything that the members hold or published for our arc has come to us.

What is owed to an ordered subscription leaves in the order of its publishers. After a new table an owner knows that
order only when no member holds an earlier event that it does not hold itself, and none has one in its outbox that the
owner before us may have taken to its grave, but not what came after it: it asks them, if it owes to such a subscription
at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from p2psub.model.ids import Contact, NodeId
from p2psub.model.messages.pubsub import GiveBackRequest, GivenBack
from p2psub.model.places import TableVersion
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease

_ASK_EVERY_TICKS: Final = 1
"""A member that still gives back says nothing: often for no longer than an acknowledgement takes."""


class Collection:
    """One question to every member of a table."""

    def __init__(
        self, step: Step, arc_lease: ArcLease, election: Election, has_in_outbox: Callable[[NodeId], bool]
    ) -> None:
        self._step = step
        self._arc_lease = arc_lease
        self._election = election
        self._has_in_outbox = has_in_outbox
        self._table: TableVersion | None = None
        self._missing: dict[NodeId, Contact] = {}
        self._asked_tick = 0

    @property
    def is_over(self) -> bool:
        """Whether all members of the table that we obey have given back what they held for us."""
        return self._table is not None and self._table == self._arc_lease.version and not self._missing

    def begin(self) -> bool:
        """Ask the members of our table, unless they are being asked; True if there is none to ask."""
        table = self._arc_lease.table
        if table is not None and table.version != self._table:
            self._table = table.version
            # We hold what we hold; but what we published ourselves may have to come back.
            me = self._step.me.id
            self._missing = {o.id: o for o in table.owners if o.id != me or self._has_in_outbox(me)}
            self._ask()
        return self.is_over

    def _ask(self) -> None:
        self._asked_tick = self._step.tick
        if self._election.cluster is not None and self._table is not None:
            for member in self._missing.values():
                self._step.send(member, GiveBackRequest(self._election.cluster, self._table))

    def on_given_back(self, peer: Contact, given: GivenBack) -> bool:
        """A member has nothing left for us; True if it was the last."""
        if given.cluster != self._election.cluster or given.table != self._table or peer.id not in self._missing:
            return False
        del self._missing[peer.id]
        return self.is_over

    def tick(self) -> None:
        """Ask again those that have not answered, while the table is the one we obey."""
        is_current = self._table is not None and self._table == self._arc_lease.version
        if is_current and self._missing and self._step.tick - self._asked_tick >= _ASK_EVERY_TICKS:
            self._ask()
