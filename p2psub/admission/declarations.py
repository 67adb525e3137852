"""A peer's own declarations: asked of its super-node again and again, until there is a verdict on them.

They live in admission, below the rooms of both askers: a subscriber's subscriptions and a publisher's advertisements
are numbered in one line, asked for in the same way and judged in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from p2psub.config import PubSubConfig
from p2psub.model.content import Declaration, DeclarationState
from p2psub.model.ids import ClusterId, Contact, SubscriptionId
from p2psub.model.messages.declarations import Declare, Verdict
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.step import Step
from p2psub.overlay.election import Election

# Looked up once: a member of an enumeration costs as much as a call, and these are asked for at every tick and event.
_ACTIVE: Final = DeclarationState.ACTIVE
_ENDED: Final = DeclarationState.ENDED
_REFUSED: Final = VerdictStatus.REFUSED


@dataclass(slots=True)
class Declared:
    """One declaration of this process."""

    record: Declaration
    status: VerdictStatus | None = None
    asked_tick: int = 0
    is_announced: bool = False
    """Whether the super-node has confirmed the current version everywhere."""
    has_lapsed: bool = False
    """Whether it was ended without our word after it had stood: nobody knows what would have come meanwhile."""

    @property
    def is_active(self) -> bool:
        """Wanted still, and not refused."""
        return self.record.state is _ACTIVE and self.status is not _REFUSED

    @property
    def is_over(self) -> bool:
        """Ended, everywhere."""
        return self.is_announced and self.record.state is _ENDED

    @property
    def is_closed(self) -> bool:
        """Refused, or over: it is not asked for any more."""
        return self.status is _REFUSED or self.is_over


class Declarations:
    """All declarations of this process."""

    def __init__(self, step: Step, config: PubSubConfig, election: Election) -> None:
        self._step = step
        self._config = config
        self._election = election
        self._sequence = 0
        self._declared: dict[SubscriptionId, Declared] = {}

    @property
    def cluster(self) -> ClusterId:
        """Ours, as far as we have one."""
        return self._election.cluster or ClusterId("")

    def is_super_node(self, peer: Contact) -> bool:
        """Whether a peer is the one that we follow."""
        return self._election.super_node is not None and self._election.super_node.id == peer.id

    def next_id(self) -> SubscriptionId:
        """A name for one more declaration."""
        self._sequence += 1
        return SubscriptionId(self._step.me.id, self._step.incarnation, self._sequence)

    def declare(self, record: Declaration) -> Declared:
        """Ask for a record."""
        declared = self._declared[record.id] = Declared(record)
        self._ask(declared)
        return declared

    def end(self, declared: Declared) -> None:
        """Ask for its end."""
        self._renew(declared, DeclarationState.ENDED)

    def _renew(self, declared: Declared, state: DeclarationState) -> None:
        """Ask for the next version of a record."""
        record = declared.record
        cluster = self._election.cluster or record.cluster
        declared.record = msgspec.structs.replace(record, version=record.version + 1, state=state, cluster=cluster)
        declared.status, declared.is_announced = None, False
        self._ask(declared)

    def _ask(self, declared: Declared) -> None:
        declared.asked_tick = self._step.tick
        super_node = self._election.super_node
        if super_node is not None:
            if declared.record.cluster != self._election.cluster:
                self._renew(declared, declared.record.state)
            else:
                self._step.send(super_node, Declare(declared.record))

    def on_verdict(self, _: Contact, verdict: Verdict) -> bool:
        """Take the super-node's word; True if a declaration has a new status by it."""
        declared = self._declared.get(verdict.id)
        if declared is None or verdict.version < declared.record.version:
            return False
        if verdict.version > declared.record.version:
            if verdict.status is not VerdictStatus.REFUSED or declared.is_closed:
                return False
            # Our lease ran out while we were cut off, and the record was ended. Still meant: go above it.
            declared.has_lapsed = declared.has_lapsed or declared.status is not None
            declared.record = msgspec.structs.replace(declared.record, version=verdict.version)
            self._renew(declared, declared.record.state)
            return False
        if declared.is_announced:
            return False
        declared.is_announced = verdict.status is not VerdictStatus.ACCEPTED
        is_new, declared.status = verdict.status is not declared.status, verdict.status
        return is_new

    def tick(self) -> None:
        """Ask again for what is not stable everywhere; forget what has ended everywhere."""
        for id_, declared in list(self._declared.items()):
            if not declared.is_announced and self._step.tick - declared.asked_tick >= self._config.retry_ticks:
                self._ask(declared)
            elif declared.is_over:
                del self._declared[id_]
