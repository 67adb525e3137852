"""A term of office: everything that begins when a node becomes super-node and ends when it is super-node no more.

A term is built at the takeover and dropped whole at its end. What a node keeps between terms is in its `Office`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from p2psub.admission.permits import Permits
from p2psub.admission.policy import Policy
from p2psub.casts.cast import Casts
from p2psub.casts.entrance import Entrances
from p2psub.casts.payload import Payload
from p2psub.config import NodeConfig
from p2psub.model.changes import Change, LogId
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, Contact, NodeId
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.messages.casts import ChangePayload, EventPayload
from p2psub.model.messages.cluster import ChangesReplicated, Heartbeat
from p2psub.model.messages.declarations import Declare
from p2psub.model.places import Table
from p2psub.model.step import Step
from p2psub.overlay.census import Census
from p2psub.overlay.cold_start import ColdStart
from p2psub.overlay.directory import Directory
from p2psub.overlay.hypercube import Hypercube
from p2psub.overlay.liveness import Liveness
from p2psub.overlay.roster import Roster
from p2psub.super_node.change_log import ChangeLog
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.completeness import Completeness
from p2psub.super_node.confirmations import RESEND_TICKS, Confirmations
from p2psub.super_node.routing import Routing
from p2psub.super_node.subscriber_leases import Lapses, SubscriberLeases
from p2psub.super_node.table_grants import TableGrants
from p2psub.super_node.verdicts import Verdicts

_ANSWER_US_MAX: Final = 6 * SECOND_US
"""An answer of what was handed over in time may be under way for so long. A guess."""
_LEASES_EVERY_TICKS: Final = 10
"""How often leases of subscribers are looked at. A guess: they are a minute and more."""


@dataclass(slots=True)
class Office:
    """What a node keeps from term to term, and the term that it serves, if any."""

    step: Step
    config: NodeConfig
    changes: ChangeSet
    lapses: Lapses
    directory: Directory
    cube: Hypercube
    liveness: Liveness
    permits: Permits
    policy: Policy
    cold_start: ColdStart
    contact_of: Callable[[NodeId], Contact | None]
    """Where a member can be reached, as far as any member knows."""
    cast_sequence: Iterator[int]
    entrances: Entrances
    term: Term | None = None
    _complete_until_tick: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether we hold what our cluster answered for: in this term, or from our last one to the next."""
        return self.step.tick < self._complete_until_tick if self.term is None else self.term.completeness.is_complete

    def be_succeeded(self) -> None:
        """Another term answers for the cluster: what we held at the end of ours is not all any more."""
        self._complete_until_tick = 0

    def begin(self, beginning: Beginning) -> Term:
        """Serve a term from now on; one that we served before ends."""
        self.end()
        self.term = Term(self, beginning)
        return self.term

    def end(self) -> None:
        """Drop the term, if there is one; super-nodes that wait for its casts are told to ask elsewhere."""
        if self.term is not None:
            # Another term that we do not hear of answers for the cluster soon.
            lasts_ticks = self.config.cluster.lease_ticks if self.term.completeness.is_complete else 0
            self._complete_until_tick = self.step.tick + lasts_ticks
            self.term.casts.abandon()
            self.term = None

    def learn(self, change: Change) -> bool:
        """Take a change from another node; True if it is new."""
        return self.changes.learn(change) if self.term is None else self.term.learn(change)

    def find(self, node: NodeId) -> Contact | None:
        """Where a member can be reached: by its heartbeats to us, else as any member knows it."""
        member = None if self.term is None else self.term.roster.members.get(node)
        return self.contact_of(node) if member is None else member.contact


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a term begins."""

    log: LogId
    census: Census
    """The members known to the new super-node, and how many there must have been lately."""
    claims: dict[LogId, int]
    """What every owner is known to hold from the term before."""
    quarantine_until_us: Micros
    """Until then a lease of the term before may run."""
    met: Table | None
    """The table of the term before, if this node was in it."""
    last: Table | None
    """The last table before all members went down, if all of them came back."""
    is_complete: bool


class Term:
    """One super-node's term of office."""

    def __init__(self, office: Office, beginning: Beginning) -> None:
        step, config, changes, log = office.step, office.config, office.changes, beginning.log
        directory, cube = office.directory, office.cube
        self._step = step
        self._office = office
        self.id = log
        self.last = beginning.last
        self.roster = Roster(step, config.cluster, config.pubsub.copies, beginning.census)
        self.grants = TableGrants(
            step,
            config.cluster,
            config.cube,
            config.tick_us,
            self.roster,
            changes,
            log.cluster,
            log.epoch,
            vector=beginning.claims,
            quarantine_until_us=beginning.quarantine_until_us,
            may_refuse=office.policy.may_refuse,
        )
        self.completeness = Completeness(
            step.me.id,
            changes,
            self.roster,
            directory,
            cube,
            office.cold_start,
            beginning.last,
            beginning.is_complete,
        )
        self.casts = Casts(
            step, config.cube, cube, directory, office.liveness, self, office.cast_sequence, office.entrances
        )
        self.routing = Routing(step, changes, directory, log.cluster, office.find, self.casts)
        self.log = ChangeLog(step, config.cube, changes, self.roster, log)
        self.confirmations = Confirmations(step, changes, self.log, self.grants, self.casts, cube)
        self.verdicts = Verdicts(
            step, config.cube, changes, directory, office.permits, self.log, self.confirmations, self.casts
        )
        self.leases = SubscriberLeases(step, config.cluster, changes, office.lapses, log, beginning.met)

    @property
    def is_placed(self) -> bool:
        """Whether our cluster stands in the cube: a filling one acknowledges nothing and numbers nothing."""
        return self._office.cube.entry is not None and self.completeness.is_complete

    def in_sync_candidates(self) -> tuple[Contact, ...]:
        """The candidates that could take over at once; an incomplete term does not know what they must hold."""
        return self.log.in_sync(self.grants.claims) if self.completeness.is_complete else ()

    # Changes

    def learn(self, change: Change) -> bool:
        """Take a change from another node; True if it is new. It is stored, replicated and applied."""
        if not self.confirmations.learn(change):
            return False
        self.leases.learn(change)
        return True

    def take(self, cast: CastId, payload: Payload, part: Prefix) -> None:
        """Our cluster's part of a cast: a change is applied, an event is handed to its subscribers."""
        if isinstance(payload, ChangePayload):
            self.learn(payload.change)
            self.confirmations.answer_when_applied(cast, payload.change.number, part)
        else:
            assert isinstance(payload, EventPayload)
            self.routing.take(cast, payload)

    def has_time(self, payload: Payload, open_ticks: int, open_us: int) -> bool:
        """A change is cast anew after a while; an event lasts as long as anybody may still take it."""
        if isinstance(payload, EventPayload):
            ttl_us, limit_us = self._office.config.pubsub.undelivered_ttl_us, payload.limit_us
            return payload.age_us + open_us <= (min(ttl_us, limit_us + _ANSWER_US_MAX) if limit_us else ttl_us)
        return open_ticks <= self._office.config.cube.cast_ticks_max

    def on_changes_replicated(self, peer: Contact, replicated: ChangesReplicated) -> None:
        """A candidate holds more than before."""
        if self.log.on_changes_replicated(peer, replicated):
            self.confirmations.apply_what_is_stored()
            self.verdicts.cast_what_is_replicated()

    def on_declare(self, peer: Contact, asked: Declare) -> None:
        """A peer asks for a declaration of its own, or for the end of one."""
        if self.is_placed:
            self.verdicts.on_declare(peer, asked)

    # Members

    def note_heartbeat(self, peer: Contact, heartbeat: Heartbeat) -> None:
        """A member is there: what an older process of it declared, confirmed and held is over."""
        if self.roster.note(peer, heartbeat):
            self._end_declarations(peer, before=heartbeat.incarnation)
            self.confirmations.forget(peer.id)
            self.log.forget(peer.id)
        if heartbeat.lacks_index:
            self.grants.forget_index(peer.id)
        self.leases.heard(peer, heartbeat.incarnation)

    def dismiss(self, peer: Contact) -> None:
        """A member has left: no copy is expected of it, and what its process declared is over."""
        member = self.roster.members.get(peer.id)
        if member is not None:
            self._end_declarations(peer, before=member.heartbeat.incarnation + 1)
        self.roster.dismiss(peer.id)

    def _end_declarations(self, peer: Contact, before: int) -> None:
        """End what older processes of a peer declared; an incomplete term numbers nothing."""
        for record in self._office.changes.active_of(peer.id):
            if record.id.incarnation < before and self.completeness.is_complete:
                self.verdicts.end(record, peer)

    # Time

    def tick(self) -> None:
        """Repeat what was not answered; end what its peer does not renew."""
        tick = self._step.tick
        if tick % RESEND_TICKS == 0:
            self.log.replicate()
        self.confirmations.tick()
        self.verdicts.tick()
        if tick % _LEASES_EVERY_TICKS == 0 and self.completeness.is_complete:
            for record in self.leases.run_out():
                self.verdicts.end(record, self._step.me)
                self._office.lapses.doubt(record.id)
