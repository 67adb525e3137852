"""What a node does as a super-node: it grants, numbers, votes, and speaks for its cluster in the cube."""

from __future__ import annotations

from typing import Final

from p2psub.model.ids import ClusterId, Contact, Epoch, NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages.cluster import Heartbeat, HeartbeatAck, IndexStored, NotSuperNode
from p2psub.model.messages.cube import ChangeBatch, CubeHeartbeat, SplitGrant
from p2psub.model.messages.pubsub import Declare
from p2psub.model.places import Table
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.node.cores import Cores
from p2psub.node.directory_probe import DirectoryProbe
from p2psub.super_node.settlement import claims_on_takeover
from p2psub.super_node.table_grants import TableGrants

_FILL_PATIENCE_TICKS: Final = 60
"""A super-node that took over without the state, and finds nobody who has it, goes on with what it has."""


class Leadership:
    """One term after another, if it comes to that; between them `grants` is None."""

    def __init__(self, cores: Cores, contacts: tuple[Contact, ...]) -> None:
        self._cores = cores
        self._step = cores.step
        self._contacts = contacts
        self._probes = 0
        self._incomplete_ticks = 0
        self._probe = DirectoryProbe(cores, contacts)
        self._last_table: Table | None = None
        self._united: dict[NodeId, None] = {}
        self._agreeing: dict[NodeId, None] = {}
        self.grants: TableGrants | None = None

    # Beginning and ending

    def begin(self, cluster: ClusterId, is_complete: bool, seen_min: int = 1, is_founding: bool = False) -> None:
        """Lead from now on. `is_complete`: we hold every change our cluster ever answered for."""
        cores, config = self._cores, self._cores.config
        known = cores.known_members()
        if self.is_cold_start:
            self._last_table = cores.cold_start.table
        self._united, self._agreeing = {}, {}
        cores.casts.abandon()
        cores.cube.forget_promises()
        cores.cube.is_founding = is_founding
        table, last = cores.arc_lease.table, cores.election.epoch
        cores.leases.restart(table if table is not None and table.version.epoch == last else None)
        cores.election.lead(cluster)
        cores.enter_cluster(cluster)
        if not cores.ring.is_joined:
            cores.ring.found(cluster)
        if cores.arc_lease.table is not None:
            # Whoever was seen in the term before counts in ours, though we may not know them all.
            seen_min = max(seen_min, cores.arc_lease.table.seen)
        elif self._last_table is not None:
            # Everybody of that table is back. Others whom we remember went before it.
            known, seen_min = list(self._last_table.owners), self._last_table.seen
        cores.roster.restart(known, seen_min)
        claims = claims_on_takeover(cores.arc_lease.claims, cores.changes.vector)
        grants = TableGrants(
            self._step,
            config.cluster,
            config.cube,
            config.tick_us,
            cores.roster,
            cores.changes,
            cluster,
            cores.election.epoch,
            vector=claims,
        )
        if len(cores.known_members()) > 1:
            grants.quarantine_until_us = Micros(self._step.now + grants.lease_us)
        self.grants = grants
        self._incomplete_ticks = 0
        cores.antientropy.inherit()
        cores.settlement.term(grants, is_complete)

    def rise_above(self, epoch: Epoch) -> None:
        """Begin a term higher than one that is over but remembered."""
        cluster, is_complete = self._cores.election.cluster, self._cores.settlement.is_complete
        assert cluster is not None
        self._cores.election.recover(cluster, epoch)
        self.begin(cluster, is_complete)
        self.announce()

    def announce(self) -> None:
        """Tell everybody we know of in the cluster who leads."""
        for contact in self._cores.known_members():
            if contact.id != self._step.me.id:
                self._step.send(contact, self._cores.election.announcement())

    def end(self, successor: Contact) -> None:
        """Step down."""
        self._stop()
        self._cores.antientropy.bequeath(successor)

    def _stop(self) -> None:
        cores = self._cores
        cores.casts.abandon()
        cores.cube.forget_promises()
        cores.settlement.abdicate()
        cores.roster.restart([])
        self.grants = self._last_table = None

    def hand_over(self) -> None:
        """Lead no more while an heir is there to begin at once: nobody has to find out that we are gone."""
        cores, election = self._cores, self._cores.election
        assert election.cluster is not None
        word = NotSuperNode(election.cluster, election.epoch, None)
        members = cores.roster.contacts()
        election.candidates = cores.settlement.in_sync_candidates()
        self._stop()
        election.abdicate()
        for contact in members:
            self._step.send(contact, word)

    def resign(self) -> None:
        """Another founded our cluster before us: become a joiner again."""
        cores = self._cores
        self._stop()
        cores.election.resign()
        cores.ring.leave()
        cores.arc_lease.give_up()
        cores.cube.is_founding = False

    @property
    def is_placed(self) -> bool:
        """Whether our cluster stands in the cube: a filling one acknowledges nothing and numbers nothing."""
        return self._cores.cube.entry is not None and self._cores.settlement.is_complete

    @property
    def is_cold_start(self) -> bool:
        """Whether we come back from our disk together with everybody else, and nobody leads yet."""
        return not self._cores.ring.is_joined and self._cores.cold_start.is_agreed

    # Time

    def tick(self, is_beat: bool) -> None:
        """One tick of our term."""
        grants, cores = self.grants, self._cores
        assert grants is not None
        if cores.cube.is_taken:
            self.resign()
            return
        cores.roster.tick()
        if self._step.tick % cores.config.ring.merge_every_ticks == 0:
            self._probe_for_other_term()
            self._probe.ask_given_up()
        self._hand_out_small_ring(grants.cluster)
        if cores.settlement.is_complete:
            if grants.tick():
                self._table_changed(grants)
            if self.is_placed:
                self._grant_myself(grants)
        else:
            self._fill()
        cores.settlement.tick()
        cores.cube.tick()
        cores.casts.tick()
        if is_beat and (cores.cube.entry is None or self._misses_neighbour()):
            self._probe.ask_all()
        if cores.cube.entry is None:
            self._seek_place(grants)
        elif is_beat:
            cores.cube.speak(len(cores.roster.members) + 1, cores.roster.candidates)
            cores.cube.beat(cores.changes.digest, cores.settlement.is_complete, self._contacts)

    def _probe_for_other_term(self) -> None:
        """Tell a remembered peer that does not report to us, in turn, who leads: after a cut, it may follow another."""
        cores = self._cores
        strangers = [c for c in cores.ring.remembered.values() if c.id not in cores.roster.members]
        if strangers:
            self._probes += 1
            self._step.send(strangers[self._probes % len(strangers)], cores.election.announcement())

    def _hand_out_small_ring(self, cluster: ClusterId) -> None:
        cores = self._cores
        small = cores.roster.small_ring(cores.config.ring.successors)
        if small:
            cores.ring.take_small_list(cluster, small)
        elif cores.ring.is_small:
            cores.ring.outgrow_small()

    def _grant_myself(self, grants: TableGrants) -> None:
        cores, table = self._cores, grants.table
        if table is None:
            return
        if table.version != cores.arc_lease.version:
            cores.adopt_table(table)
        if table.version == cores.arc_lease.version:
            cores.arc_lease.renew(self._step.now, grants.claims, cores.roster.seen)

    # The cube

    def _misses_neighbour(self) -> bool:
        """Whether a neighbour is silent: its cluster may have another super-node by now, whom we do not know."""
        return any(not self._cores.liveness.hears(contact.id) for contact in self._cores.cube.watched())

    def _fill(self) -> None:
        """Neighbours, or members who held it, give us the change set; if nobody has it, go on with what we have."""
        self._incomplete_ticks += 1
        for contact in self._cores.roster.contacts():
            if contact.id not in self._united:
                self._cores.antientropy.offer(contact)
        if self._cores.cube.entry is None:
            return
        if self._incomplete_ticks > _FILL_PATIENCE_TICKS or (self._holds_what_all_held() and self._stands()):
            self._cores.settlement.is_complete = True

    def _holds_what_all_held(self) -> bool:
        """Whether everybody of the last table came back with its disk, and we have what was on them."""
        table, me = self._last_table, self._step.me.id
        return table is not None and all(owner.id == me or self._has_given(owner.id) for owner in table.owners)

    def _has_given(self, node: NodeId) -> bool:
        member = self._cores.roster.members.get(node)
        back = self._cores.cold_start.incarnation_of(node)
        return node in self._united and member is not None and member.heartbeat.incarnation == back

    def _stands(self) -> bool:
        """Whether the neighbours see us where our disk says: while we were down they may have given us up."""
        return all(contact.id in self._agreeing for contact in self._cores.cube.watched())

    def on_change_batch(self, peer: Contact, batch: ChangeBatch) -> None:
        """Somebody gives us what we lack, or has nothing more."""
        self._cores.antientropy.on_change_batch(peer, batch)
        if self._cores.changes.contains(batch.vector):
            self._united[peer.id] = None

    def _seek_place(self, grants: TableGrants) -> None:
        """Founders, and clusters whose prefix went to another: get half of somebody's prefix and fill up."""
        cores = self._cores
        if cores.cube.reclaim():
            # Others went on without us: what they called stable meanwhile we may not have.
            cores.settlement.is_complete, self._incomplete_ticks = False, 0
            return
        giver, granted = cores.cube.giver(), cores.cube.granted
        if granted is None or giver is None:
            cores.cube.ask_for_split(grants.cluster)
        elif not cores.changes.contains(granted.vector):
            cores.cube.ask_for_split(grants.cluster)
            cores.antientropy.offer(giver)
        else:
            cores.settlement.is_complete = True
            if grants.table is not None and all(grants.vector.get(s, 0) >= n for s, n in granted.vector):
                cores.cube.report_filled(giver)

    def on_split_grant(self, peer: Contact, grant: SplitGrant) -> None:
        """We are promised a place: go on at once, the first time that we hear it."""
        cube = self._cores.cube
        is_first = cube.granted is None
        cube.on_split_grant(peer, grant)
        if is_first and cube.granted is not None and self.grants is not None:
            self._seek_place(self.grants)

    def on_cube_heartbeat(self, peer: Contact, heartbeat: CubeHeartbeat) -> None:
        """A neighbour compares directories and changes with us."""
        self._cores.cube.on_cube_heartbeat(peer, heartbeat)
        if heartbeat.directory == self._cores.directory.digest:
            self._agreeing[peer.id] = None
        if self._cores.election.is_super_node:
            self._cores.antientropy.on_cube_heartbeat(peer, heartbeat)

    # Our members

    def on_declare(self, peer: Contact, asked: Declare) -> None:
        if self._cores.election.is_super_node and self.is_placed:
            self._cores.settlement.on_declare(peer, asked)

    def on_index_stored(self, peer: Contact, held: IndexStored) -> None:
        if self.grants is not None and self.grants.on_index_stored(peer, held):
            self._table_changed(self.grants)

    def _table_changed(self, grants: TableGrants) -> None:
        """A table came into force: nobody should have to ask for it."""
        self._cores.settlement.table_changed()
        if self.is_placed:
            self._grant_myself(grants)
            for member in self._cores.roster.members.values():
                self._step.send(member.contact, self._term(grants, member.contact, member.heartbeat))

    def take_heartbeat(self, grants: TableGrants, peer: Contact, heartbeat: Heartbeat) -> None:
        """A member reports: note it, and tell it everything it does not have yet."""
        cores, members = self._cores, self._cores.roster.members
        if peer.id not in members and len(members) + 1 >= cores.config.cluster.size_max:
            self._step.record(Kind.DROP, peer=peer.id, reason=Reason.CLUSTER_FULL)
            return
        cores.ring.remember(peer)
        if cores.roster.note(peer, heartbeat):
            cores.settlement.end_older(peer, heartbeat.incarnation)
            cores.settlement.forget(peer.id)
        if heartbeat.leaving and grants.has_released(peer.id, heartbeat.table):
            cores.roster.discount(peer.id)
        if heartbeat.lacks_index:
            grants.forget_index(peer.id)
        cores.leases.heard(peer, heartbeat.incarnation)
        self._step.send(peer, self._term(grants, peer, heartbeat))

    def _term(self, grants: TableGrants, peer: Contact, heartbeat: Heartbeat) -> HeartbeatAck:
        cores = self._cores
        is_entitled = self.is_placed and grants.is_entitled(peer.id, heartbeat.incarnation)
        table = grants.table if is_entitled or (heartbeat.leaving and self.is_placed) else None
        has_table = table is not None and heartbeat.table == table.version
        knows_directory = heartbeat.directory == cores.directory.digest
        return HeartbeatAck(
            cluster=grants.cluster,
            epoch=grants.epoch,
            sent_us=heartbeat.sent_us,
            candidates=cores.settlement.in_sync_candidates(),
            small_ring=cores.roster.small_ring(cores.config.ring.successors),
            table=None if has_table else table,
            table_version=None if table is None else table.version,
            seen=cores.roster.seen,
            applied=None if grants.digest == heartbeat.applied else grants.claims,
            directory=() if knows_directory else cores.directory.entries(),
        )
