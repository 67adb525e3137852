"""Whether a super-node holds every change that its cluster ever answered for.

An in-sync candidate that takes over does. Any other super-node fills up first: from its cube neighbours, from members
that held the changes, or from the cluster that gives it half of its prefix. Until then it grants no table and numbers
nothing. If it finds no node that has the changes for a while, it goes on with what it has.
"""

from __future__ import annotations

from typing import Final

from p2psub.model.changes import Vector
from p2psub.model.ids import Contact, NodeId
from p2psub.model.messages.cube import ChangeBatch, CubeHeartbeat
from p2psub.model.places import Table
from p2psub.overlay.cold_start import ColdStart
from p2psub.overlay.directory import Directory
from p2psub.overlay.hypercube import Hypercube
from p2psub.overlay.roster import Roster
from p2psub.super_node.change_set import ChangeSet

_PATIENCE_TICKS: Final = 60
"""How long a super-node looks for a node that has the changes. A guess: thirty heartbeats."""


class Completeness:
    """The only writer of `is_complete`. `last` is the table of the term before, if every member of it came back."""

    def __init__(
        self,
        me: NodeId,
        changes: ChangeSet,
        roster: Roster,
        directory: Directory,
        cube: Hypercube,
        cold_start: ColdStart,
        last: Table | None,
        is_complete: bool,
    ) -> None:
        self._me = me
        self._changes = changes
        self._roster = roster
        self._directory = directory
        self._cube = cube
        self._cold_start = cold_start
        self._last = last
        self._waited_ticks = 0
        self._united: dict[NodeId, None] = {}
        self._agreeing: dict[NodeId, None] = {}
        self._is_complete = is_complete

    @property
    def is_complete(self) -> bool:
        return self._is_complete

    def lose(self) -> None:
        """Others went on without us: what they called stable meanwhile we may not have."""
        self._is_complete, self._waited_ticks = False, 0

    def is_filled(self, granted: Vector) -> bool:
        """Whether we hold all that was fixed when we were promised a place in the cube; that is all we need."""
        if not self._changes.contains(granted):
            return False
        self._is_complete = True
        return True

    def on_cube_heartbeat(self, peer: Contact, heartbeat: CubeHeartbeat) -> None:
        """A neighbour says what it knows; if it holds the same changes and is complete, so are we."""
        if heartbeat.directory == self._directory.digest:
            self._agreeing[peer.id] = None
        if heartbeat.vector == self._changes.digest:
            self._is_complete |= heartbeat.complete

    def on_change_batch(self, peer: Contact, batch: ChangeBatch) -> None:
        """A peer has given what we lacked; if it was complete and has nothing more, so are we."""
        if self._changes.contains(batch.vector):
            self._united[peer.id] = None
            self._is_complete |= batch.complete

    def tick(self) -> list[Contact]:
        """Look whether we are complete by now; the members that have not yet given us what they hold."""
        self._waited_ticks += 1
        lacking = [contact for contact in self._roster.contacts() if contact.id not in self._united]
        if self._cube.entry is not None:
            is_known = self._holds_what_all_held() and self._is_seen_in_place()
            self._is_complete = self._waited_ticks > _PATIENCE_TICKS or is_known
        return lacking

    def _holds_what_all_held(self) -> bool:
        """Whether every member of the last table came back with its disk, and we have what was on them."""
        last = self._last
        return last is not None and all(owner.id == self._me or self._has_given(owner.id) for owner in last.owners)

    def _has_given(self, node: NodeId) -> bool:
        member = self._roster.members.get(node)
        back = self._cold_start.incarnation_of(node)
        return node in self._united and member is not None and member.heartbeat.incarnation == back

    def _is_seen_in_place(self) -> bool:
        """Whether the neighbours see us where our disk says: while we were down they may have given us up."""
        return all(contact.id in self._agreeing for contact in self._cube.watched())
