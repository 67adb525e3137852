"""A cluster's place in the cube: heartbeats to neighbours, splits with filling, takeover of what is lost.

Prefixes partition the label space, so no position is vacant. A newcomer gets half of a shortest prefix; until it holds
every change of the vector that was fixed at the split it is *filling*: the old super-node keeps the whole prefix, hands
casts for that half on, and answers for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from p2psub.config import CubeConfig
from p2psub.model.changes import Vector
from p2psub.model.graycode import Prefix, contains, overlaps, sibling_half
from p2psub.model.ids import ClusterId, Contact, Epoch, NodeId
from p2psub.model.messages.cube import (
    CubeHeartbeat,
    DirectoryRequest,
    DirectoryResponse,
    Filled,
    SplitGrant,
    SplitRefused,
    SplitRequest,
)
from p2psub.model.places import Entry, Standing
from p2psub.model.reasons import SplitRefusal
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.model.transmission import Transmission
from p2psub.overlay.directory import Directory
from p2psub.overlay.election import Election
from p2psub.overlay.liveness import Liveness

DIRECTORY_NAMESPACE: Final = "directory"

_SPLIT_PATIENCE_TICKS: Final = 40
"""A founder not heard of for this long has given up; its half is free again. A guess."""

_PRESENT: Final = Standing.PRESENT
"""Looked up once: a member of an enumeration costs as much as a call."""
_SPARES: Final = 2
_SPARES_EVERY_TICKS: Final = 20
"""How many members an entry names besides the super-node, and how often that is looked at. Guesses."""


@dataclass(slots=True)
class Filling:
    """The half we have promised to a founder."""

    cluster: ClusterId
    prefix: Prefix
    founder: Contact
    epoch: Epoch
    """The term that gave the promise; another cannot keep it, since its casts went past the founder."""
    vector: Vector
    """What the founder must hold: fixed when the promise was given, since every cast after it is handed on."""
    asked_tick: int


@dataclass(slots=True)
class _Seat:
    """What one term has promised, was promised and has noticed in the cube."""

    is_founding: bool
    filling: Filling | None = None
    granted: SplitGrant | None = None
    silent: dict[NodeId, int] = field(default_factory=dict)
    announced: bytes = b""


class Hypercube:
    """What a node knows of the cube, and what it does there while it has a seat: while it is super-node.

    `vector` tells what changes we hold.
    """

    def __init__(
        self,
        step: Step,
        config: CubeConfig,
        directory: Directory,
        election: Election,
        liveness: Liveness,
        vector: Callable[[], Vector],
    ) -> None:
        self._step = step
        self._config = config
        self._directory = directory
        self._election = election
        self._liveness = liveness
        self._vector = vector
        self._seat: _Seat | None = None
        self._told: dict[NodeId, Transmission] = {}
        """Whom the directory was told in this tick, or earlier if that waits for its link."""
        self._told_tick = 0

    # Our own place

    def take_seat(self, is_founding: bool) -> None:
        """A term begins; `is_founding`: of a cluster that has no place yet."""
        self._seat = _Seat(is_founding)

    def leave_seat(self) -> None:
        """The term ends, and with it every promise."""
        self._seat = None

    @property
    def filling(self) -> Filling | None:
        """The half that we have promised to a founder."""
        return None if self._seat is None else self._seat.filling

    @property
    def granted(self) -> SplitGrant | None:
        """The half that we were promised."""
        return None if self._seat is None else self._seat.granted

    @property
    def is_founding(self) -> bool:
        """Whether we began our term to found a cluster that has no place yet."""
        return self._seat is not None and self._seat.is_founding

    @property
    def entry(self) -> Entry | None:
        """Our cluster's entry, if it stands in the cube; while we found it, only one that is ours."""
        entry = self._known_entry()
        if entry is None or (self.is_founding and entry.super_node.id != self._step.me.id):
            return None
        return entry

    @property
    def is_taken(self) -> bool:
        """Whether the cluster that we are founding stands already, founded by another."""
        return self.is_founding and self._known_entry() is not None and self.entry is None

    def _known_entry(self) -> Entry | None:
        cluster = self._election.cluster
        entry = None if cluster is None else self._directory.get(cluster)
        return entry if entry is not None and entry.standing is _PRESENT else None

    @property
    def place(self) -> Prefix | None:
        """The subcube we answer for: only while we lead; a filling founder answers for its half through the giver."""
        if self._seat is None:
            return None
        entry, granted = self.entry, self._seat.granted
        if entry is not None:
            return entry.prefix
        return None if granted is None else granted.prefix

    def found_overlay(self, cluster: ClusterId) -> None:
        """The first cluster owns the whole cube."""
        self._place(cluster, Prefix(""), 1)

    def speak(self, members: int, able: list[Contact]) -> None:
        """Put our term into the directory, with our size, and with spares from the members able to succeed."""
        entry, epoch = self.entry, self._election.epoch
        if entry is None or entry.epoch > epoch:
            return
        if entry.epoch < epoch:
            # No member has sent us a heartbeat yet. The super-node before us may be back as a member.
            before = [c for c in (*entry.spares, entry.super_node) if c.id != self._step.me.id]
            spoken = Entry(entry.cluster, entry.prefix, entry.version, self._step.me, epoch, members)
            self._merge([msgspec.structs.replace(spoken, spares=tuple(before[:_SPARES]))])
        elif self._step.tick % _SPARES_EVERY_TICKS == 0 and self._lacks_spares(entry, able):
            spares = tuple(able[:_SPARES])
            self._merge([msgspec.structs.replace(entry, members=members, spares=spares, edition=entry.edition + 1)])
        elif entry.members != members:
            self._merge([msgspec.structs.replace(entry, members=members)])

    def _lacks_spares(self, entry: Entry, able: list[Contact]) -> bool:
        """Whether we could name more members that are there; those named stay named, else all would have to hear."""
        return sum(contact in able for contact in entry.spares) < min(_SPARES, len(able))

    def reclaim(self) -> bool:
        """Take our last place again if other clusters gave us up and none took it: we are alive."""
        cluster = self._election.cluster
        entry = None if cluster is None else self._directory.get(cluster)
        if entry is None or entry.standing is Standing.PRESENT or self.is_founding:
            return False
        if any(overlaps(other.prefix, entry.prefix) for other in self._directory.present()):
            return False
        self._place(entry.cluster, entry.prefix, entry.version + 1)
        return True

    def _place(self, cluster: ClusterId, prefix: Prefix, version: int, standing: Standing = Standing.PRESENT) -> None:
        known, me, epoch = self._directory.get(cluster), self._step.me, self._election.epoch
        placed = Entry(cluster, prefix, version, me, epoch, 1, standing)
        if known is not None:
            placed = msgspec.structs.replace(known, prefix=prefix, version=version, standing=standing)
            if standing is Standing.PRESENT and known.epoch < epoch:
                placed = msgspec.structs.replace(placed, super_node=me, epoch=epoch, spares=(), edition=0)
        self._merge([placed])

    def recover(self, entries: Iterable[Entry]) -> None:
        """What our last process knew of the cube; much of it may have changed since."""
        self._directory.merge(entries)

    def learn(self, entries: Iterable[Entry]) -> list[Entry]:
        """Take what is newer, and make it durable: with it an overlay that was down finds itself again."""
        changed = self._directory.merge(entries)
        for entry in changed:
            self._step.write(DIRECTORY_NAMESPACE, (entry.cluster,), entry)
        return changed

    def _merge(self, entries: list[Entry]) -> None:
        for entry in self.learn(entries):
            self._step.record(
                Kind.DIRECTORY,
                cluster=entry.cluster,
                epoch=entry.epoch,
                prefix=entry.prefix,
                version=entry.version,
                standing=entry.standing,
            )

    # Heartbeats

    def beat(self, digest: bytes, complete: bool, announce_to: tuple[Contact, ...]) -> None:
        """Heartbeat to the neighbours; look after vacancies, splits and double claims."""
        entry = self.entry
        if entry is None:
            return
        heartbeat = CubeHeartbeat(entry.cluster, self._directory.digest, digest, complete)
        for contact in self._directory.neighbours(entry.prefix):
            self._step.send(contact, heartbeat)
        seat = self._seat
        assert seat is not None
        if seat.filling is not None:
            self._step.send(seat.filling.founder, heartbeat)
        if self._step.tick % 10 == 0 or seat.announced != self._directory.digest:
            seat.announced = self._directory.digest
            for contact in announce_to:
                self._tell(contact)

    def watched(self) -> list[Contact]:
        """The neighbours, whose silence matters to casts."""
        entry = self.entry
        return [] if entry is None else self._directory.neighbours(entry.prefix)

    def on_cube_heartbeat(self, peer: Contact, heartbeat: CubeHeartbeat) -> None:
        if heartbeat.directory != self._directory.digest:
            self._tell(peer)

    def on_directory_request(self, peer: Contact, _: DirectoryRequest) -> None:
        self._tell(peer)

    def _tell(self, contact: Contact) -> None:
        """Tell what we know, unless that waits for its link already: what is new by then is told on a beat."""
        if self._told_tick != self._step.tick:
            self._told_tick = self._step.tick
            self._told = {node: before for node, before in self._told.items() if before.is_waiting}
        before = self._told.get(contact.id)
        if before is None or not before.is_waiting:
            response = DirectoryResponse(self._directory.entries())
            self._told[contact.id] = self._step.send_followed(contact, response)

    def on_directory_response(self, peer: Contact, said: DirectoryResponse) -> None:
        """Take what is newer; a super-node says back what the other does not know."""
        self._merge(list(said.entries))
        told = Directory()
        told.merge(said.entries)
        if self._seat is not None and told.digest != self._directory.digest:
            self._tell(peer)

    # Splits

    def ask_for_split(self, cluster: ClusterId) -> None:
        """A founder's beat: ask the owner of a shortest prefix, or tell it that we are filled."""
        shortest = self._directory.shortest(cluster)
        if shortest is not None:
            self._step.send(shortest.super_node, SplitRequest(cluster, self._step.me))

    def on_split_request(self, peer: Contact, ask: SplitRequest) -> None:
        entry, seat = self.entry, self._seat
        shortest = self._directory.shortest(ask.cluster)
        known = self._directory.get(ask.cluster)
        if entry is None or seat is None or shortest is None or len(shortest.prefix) < len(entry.prefix):
            self._refuse_split(peer, SplitRefusal.NOT_THE_SHORTEST)
        elif seat.filling is not None and seat.filling.cluster != ask.cluster:
            self._refuse_split(peer, SplitRefusal.BUSY)
        elif known is not None and known.standing is Standing.PRESENT:
            self._refuse_split(peer, SplitRefusal.PRESENT)
        elif seat.filling is not None and seat.filling.founder != ask.founder:
            self._refuse_split(peer, SplitRefusal.PROMISED_TO_ANOTHER)
        else:
            if seat.filling is None:
                half = Prefix(entry.prefix + "1")
                epoch, vector = self._election.epoch, self._vector()
                seat.filling = Filling(ask.cluster, half, ask.founder, epoch, vector, self._step.tick)
            promise = seat.filling
            promise.asked_tick = self._step.tick
            version = max(entry.version, 0 if known is None else known.version) + 1
            grant = SplitGrant(ask.cluster, promise.prefix, version, promise.vector, self._directory.entries())
            self._step.send(peer, grant)

    def _refuse_split(self, peer: Contact, reason: SplitRefusal) -> None:
        self._step.send(peer, SplitRefused(reason, self._directory.entries()))

    def on_split_grant(self, _: Contact, grant: SplitGrant) -> None:
        if self._seat is not None and self.entry is None and grant.cluster == self._election.cluster:
            self._merge(list(grant.entries))
            self._seat.granted = grant

    def on_split_refused(self, _: Contact, refused: SplitRefused) -> None:
        self._merge(list(refused.entries))
        if self._seat is not None:
            self._seat.granted = None

    def report_filled(self, giver: Contact) -> None:
        """We hold everything of the granted vector: ask for our place until the directory shows it."""
        grant = self.granted
        assert grant is not None
        entry = Entry(grant.cluster, grant.prefix, grant.version, self._step.me, self._election.epoch, 1)
        self._step.send(giver, Filled(grant.cluster, entry, grant.vector))

    def giver(self) -> Contact | None:
        """The super-node that owns the prefix of which we were granted half."""
        if self.granted is None:
            return None
        return next(iter(self._directory.contacts_in(self.granted.prefix)), None)

    def on_filled(self, peer: Contact, filled: Filled) -> None:
        entry, filling, seat = self.entry, self.filling, self._seat
        promised = None if filling is None else (filling.cluster, filling.prefix, filling.epoch, filling.vector)
        claimed = (filled.cluster, filled.entry.prefix, self._election.epoch, filled.vector)
        if entry is None or seat is None or promised != claimed:
            # Placed already, or promised by a super-node before us: then what was cast since never reached it.
            self._refuse_split(peer, SplitRefusal.NOT_PROMISED)
            return
        seat.filling = None
        self._merge([filled.entry])
        self._place(entry.cluster, Prefix(entry.prefix + "0"), entry.version + 1)
        self._tell(peer)

    # Loss

    def tick(self) -> None:
        """Count how long neighbours have been silent, take over what is lost, decide double claims."""
        seat = self._seat
        assert seat is not None
        if seat.filling is not None and self._step.tick - seat.filling.asked_tick > _SPLIT_PATIENCE_TICKS:
            seat.filling = None
        entry = self.entry
        if entry is None:
            return
        seat.granted, seat.is_founding = None, False
        self._count_silence(entry, seat)
        rival = self._rival(entry)
        if rival is not None:
            self._place(entry.cluster, entry.prefix, max(entry.version, rival.version) + 1, Standing.LOST)
            return
        for vacancy in self._directory.vacant():
            taken = self._taken_over(entry, vacancy)
            if taken is not None:
                # What we promised a founder was half of another prefix.
                seat.filling = None
                self._place(entry.cluster, taken, entry.version + 1)
                return

    def _count_silence(self, entry: Entry, seat: _Seat) -> None:
        silent: dict[NodeId, int] = {}
        neighbours = self._directory.neighbours(entry.prefix)
        for other in self._directory.present():
            node = other.super_node.id
            # Others are watched, too, while they hold a half of ours; but only its neighbours give a cluster up.
            if self._liveness.is_dead(node) and other.super_node in neighbours:
                silent[node] = seat.silent.get(node, 0) + 1
                if silent[node] > self._config.lost_after_ticks:
                    self._place(other.cluster, other.prefix, other.version + 1, Standing.LOST)
        seat.silent = silent

    def _taken_over(self, entry: Entry, vacancy: Prefix) -> Prefix | None:
        """The prefix that we hold from now on because no cluster holds `vacancy`; None if another must see to it.

        A single sibling absorbs it. Of a deeper sibling half the deepest cluster moves there, and its twin absorbs what
        it left.
        """
        sibling = sibling_half(vacancy, len(vacancy) - 1)
        if entry.prefix == sibling:
            return Prefix(vacancy[:-1])
        beside = [other for other in self._directory.present() if contains(sibling, other.prefix)]
        deepest = max(beside, key=lambda other: (len(other.prefix), other.prefix), default=None)
        return vacancy if deepest is not None and deepest.cluster == entry.cluster else None

    def _rival(self, entry: Entry) -> Entry | None:
        """The cluster that claims labels of ours and has the better claim."""
        mine = (entry.version, entry.cluster)
        for other in self._directory.present():
            claims = other.cluster != entry.cluster and overlaps(other.prefix, entry.prefix)
            if claims and (other.version, other.cluster) > mine:
                return other
        return None
