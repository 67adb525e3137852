"""How a node begins, leads and ends its terms: what its cluster, its ring and its cube neighbours hear of it.

What belongs to one term is in the `Term` (p2psub/super_node/term.py). Here it meets what the node is besides: a member
of the ring, an owner that needs a table like every other, and a neighbour in the cube.
"""

from __future__ import annotations

from p2psub.model.changes import LogId
from p2psub.model.ids import ClusterId, Contact, Epoch
from p2psub.model.instants import Micros
from p2psub.model.messages.casts import Answer, CastRefused, CastRequest, CustodyRequest
from p2psub.model.messages.cluster import Heartbeat, HeartbeatAck, IndexStored, NotSuperNode
from p2psub.model.messages.cube import CubeHeartbeat, SplitGrant
from p2psub.model.places import Table
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.status import LifeStage
from p2psub.node.cores import Cores
from p2psub.node.directory_probe import DirectoryProbe
from p2psub.node.life_cycle import Happening, LifeCycle
from p2psub.overlay.census import Census
from p2psub.super_node.confirmations import claims_on_takeover
from p2psub.super_node.term import Beginning, Term


class Leadership:
    """One term after another, if it comes to that."""

    def __init__(self, cores: Cores, life: LifeCycle, contacts: tuple[Contact, ...]) -> None:
        self._cores = cores
        self._step = cores.step
        self._office = cores.office
        self._life = life
        self._contacts = contacts
        self._probe = DirectoryProbe(cores, contacts)
        self._probes = 0

    # Beginning

    def found_overlay(self, cluster: ClusterId) -> None:
        """There is no overlay: we are its first cluster."""
        self._life.note(Happening.FOUNDED)
        self._begin(cluster, is_complete=True)
        self._cores.cube.found_overlay(cluster)
        self._review()

    def found_cluster(self, cluster: ClusterId) -> None:
        """The overlay has no such cluster: found it, once another cluster gives us half of its prefix."""
        self._life.note(Happening.FOUNDED)
        self._begin(cluster, is_complete=False, is_founding=True)

    def take_over(self, cluster: ClusterId, is_complete: bool, assumed_min: int) -> None:
        """Succeed the super-node of our cluster. `is_complete`: we hold every change that it ever answered for.

        `assumed_min` members may have been there, whatever we know.
        """
        self._life.note(Happening.TOOK_OVER)
        self._begin(cluster, is_complete, assumed_min)
        self._announce()
        self._review()

    def rise_above(self, epoch: Epoch) -> None:
        """Begin a term higher than one that is over but remembered."""
        term = self._office.term
        assert term is not None
        self._life.note(Happening.TOOK_OVER)
        self._cores.election.recover(term.id.cluster, epoch)
        assumed_min = term.roster.census.assumed_min
        self._begin(term.id.cluster, term.completeness.is_complete, assumed_min, last=term.last)
        self._announce()
        self._review()

    def _begin(
        self,
        cluster: ClusterId,
        is_complete: bool,
        assumed_min: int = 0,
        is_founding: bool = False,
        last: Table | None = None,
    ) -> None:
        cores, table = self._cores, self._cores.arc_lease.table
        known = cores.known_members()
        if self.is_cold_start:
            last = cores.cold_start.table
        met = table if table is not None and table.version.epoch == cores.election.epoch else None
        self._office.end()
        cores.cube.take_seat(is_founding)
        cores.election.lead(cluster)
        if not cores.ring.is_joined:
            cores.ring.found()
        if table is None and last is not None:
            # Every member of that table is back. Other members that we remember went before it.
            known = list(last.owners)
        # Members seen in the term before count in ours, though we may not know them all.
        remembered = table or last or cores.cold_start.own_table
        lease_us = cores.config.cluster.lease_ticks * cores.config.tick_us
        is_alone = len(cores.known_members()) <= 1
        self._office.begin(
            Beginning(
                log=LogId(cluster, cores.election.epoch),
                census=Census(self._step, cores.config.cluster, cores.election.epoch, known, remembered, assumed_min),
                claims=claims_on_takeover(cores.arc_lease.claims, cores.changes.vector),
                quarantine_until_us=Micros(0 if is_alone else self._step.now + lease_us),
                met=met,
                last=last,
                is_complete=is_complete,
            )
        )
        cores.antientropy.inherit()

    @property
    def is_cold_start(self) -> bool:
        """Whether we come back from our disk together with all other members, and none of them leads yet."""
        return not self._cores.ring.is_joined and self._cores.cold_start.is_agreed

    def _announce(self) -> None:
        """Tell every member we know of in the cluster that we lead."""
        for contact in self._cores.known_members():
            if contact.id != self._step.me.id:
                self._step.send(contact, self._cores.election.announcement())

    # Ending

    def step_down(self, successor: Contact) -> None:
        """A higher epoch is heard of: end our term, and offer what it numbered to the successor."""
        self._end(Happening.DEPOSED)
        self._cores.antientropy.bequeath(successor)

    def hand_over(self) -> None:
        """Leave our term while an in-sync candidate is there to begin at once: no member has to find out by itself."""
        term, election = self._office.term, self._cores.election
        assert term is not None
        word = NotSuperNode(term.id.cluster, term.id.epoch, None)
        for member in term.roster.members.values():
            # The candidates may not have heard yet that they are in sync.
            self._step.send(member.contact, self._ack(term, member.contact, member.heartbeat))
            self._step.send(member.contact, word)
        election.name(term.in_sync_candidates())
        self._end(Happening.DEPOSED)
        election.abdicate()

    def _resign(self) -> None:
        """Another founded our cluster before us: become a joiner again."""
        cores = self._cores
        self._end(Happening.RESIGNED)
        cores.election.resign()
        cores.ring.leave()
        cores.arc_lease.give_up()

    def _end(self, why: Happening) -> None:
        self._office.end()
        self._cores.cube.leave_seat()
        self._life.note(why)

    # Time

    def tick(self, is_beat: bool) -> None:
        """One tick of our term."""
        cores, term = self._cores, self._office.term
        assert term is not None
        if cores.cube.is_taken:
            self._resign()
            return
        term.roster.tick()
        if self._step.tick % cores.config.ring.merge_every_ticks == 0:
            self._probe_for_other_term(term)
            self._probe.ask_given_up()
        self._hand_out_small_ring(term)
        if term.completeness.is_complete:
            if term.grants.tick():
                self._table_changed(term)
            if term.is_placed:
                self._grant_myself(term)
        else:
            for contact in term.completeness.tick():
                cores.antientropy.offer(contact)
        term.tick()
        cores.cube.tick()
        term.casts.tick()
        term.routing.tick()
        if is_beat and (cores.cube.entry is None or self._misses_neighbour()):
            self._probe.ask_all()
        if cores.cube.entry is None:
            self._seek_place(term)
        elif is_beat:
            cores.cube.speak(len(term.roster.members) + 1, term.roster.candidates)
            cores.cube.beat(cores.changes.digest, term.completeness.is_complete, self._contacts)
            members = [member.contact for member in term.roster.members.values()]
            cores.ways.tell(cores.cube.entry.prefix, term.id.cluster, cores.egress.way_over, members)
        self._review()

    def _review(self) -> None:
        """Note what has become of our place in the cube."""
        term, stage = self._office.term, self._life.stage
        assert term is not None
        if term.is_placed:
            if stage in {LifeStage.FOUNDING, LifeStage.FILLING}:
                self._life.note(Happening.PLACED)
        elif stage is LifeStage.SUPER_NODE:
            self._life.note(Happening.DISPLACED)
        elif stage is LifeStage.FOUNDING and self._cores.cube.granted is not None:
            self._life.note(Happening.PROMISED)
        elif stage is LifeStage.FILLING and self._cores.cube.is_founding and self._cores.cube.granted is None:
            self._life.note(Happening.NOT_PROMISED)

    def _probe_for_other_term(self, term: Term) -> None:
        """Tell a remembered peer that is not our member, in turn, that we lead: after a cut, it may follow another."""
        cores = self._cores
        strangers = [c for c in cores.ring.remembered.values() if c.id not in term.roster.members]
        if strangers:
            self._probes += 1
            self._step.send(strangers[self._probes % len(strangers)], cores.election.announcement())

    def _hand_out_small_ring(self, term: Term) -> None:
        cores = self._cores
        small = term.roster.small_ring(cores.config.ring.successors)
        if small:
            cores.ring.take_small_list(small)
        elif cores.ring.is_small:
            cores.ring.outgrow_small()

    def _grant_myself(self, term: Term) -> None:
        cores, table = self._cores, term.grants.table
        if table is None:
            return
        if table.version != cores.arc_lease.version:
            cores.adopt_table(table)
        if table.version == cores.arc_lease.version:
            cores.arc_lease.renew(self._step.now, term.grants.claims, term.roster.seen)

    # The cube

    def _misses_neighbour(self) -> bool:
        """Whether a neighbour is silent: its cluster may have another super-node by now, which we do not know."""
        return any(not self._cores.liveness.hears(contact.id) for contact in self._cores.cube.watched())

    def _seek_place(self, term: Term) -> None:
        """Founders, and clusters whose prefix went to another: get half of a prefix and fill up."""
        cores, cluster = self._cores, term.id.cluster
        if cores.cube.reclaim():
            term.completeness.lose()
            return
        giver, granted = cores.cube.giver(), cores.cube.granted
        if granted is None or giver is None:
            cores.cube.ask_for_split(cluster)
        elif not term.completeness.is_filled(granted.vector):
            cores.cube.ask_for_split(cluster)
            cores.antientropy.offer(giver)
        elif term.grants.table is not None and all(term.grants.vector.get(s, 0) >= n for s, n in granted.vector):
            cores.cube.report_filled(giver)

    def on_split_grant(self, peer: Contact, grant: SplitGrant) -> None:
        """We are promised a place: go on at once, the first time that we hear it."""
        cube, term = self._cores.cube, self._office.term
        is_first = cube.granted is None
        cube.on_split_grant(peer, grant)
        if is_first and cube.granted is not None and term is not None:
            self._seek_place(term)
            self._review()

    def on_cube_heartbeat(self, peer: Contact, heartbeat: CubeHeartbeat) -> None:
        """A neighbour compares directories and changes with us."""
        self._cores.cube.on_cube_heartbeat(peer, heartbeat)
        if self._office.term is not None:
            self._office.term.completeness.on_cube_heartbeat(peer, heartbeat)
            self._cores.antientropy.on_cube_heartbeat(peer, heartbeat)

    def refuse_cast(self, peer: Contact, asked: CastRequest | CustodyRequest) -> None:
        """We are not a super-node: name those that are."""
        self._step.send(peer, CastRefused(asked.id, asked.subcube, self._cores.directory.entries()))

    def note_late_answer(self, peer: Contact, answer: Answer) -> None:
        """The term that waited for it is over."""
        late = Reason.LATE_ANSWER
        self._step.record(Kind.DUPLICATE, cast=answer.id, peer=peer.id, prefix=answer.subcube, reason=late)

    # Our members

    def on_index_stored(self, peer: Contact, stored: IndexStored) -> None:
        """A member holds its part of the index for a new table."""
        term = self._office.term
        if term is not None and term.grants.on_index_stored(peer, stored):
            self._table_changed(term)

    def _table_changed(self, term: Term) -> None:
        """A table came into force: no member should have to ask for it."""
        term.confirmations.table_changed()
        if term.is_placed:
            self._grant_myself(term)
            for member in term.roster.members.values():
                self._step.send(member.contact, self._ack(term, member.contact, member.heartbeat))

    def take_heartbeat(self, term: Term, peer: Contact, heartbeat: Heartbeat) -> None:
        """A member sends a heartbeat: note it, and tell it everything it does not have yet."""
        cores, members = self._cores, term.roster.members
        if peer.id not in members and len(members) + 1 >= cores.config.cluster.size_max:
            self._step.record(Kind.DROP, peer=peer.id, reason=Reason.CLUSTER_FULL)
            return
        cores.ring.remember(peer)
        term.note_heartbeat(peer, heartbeat)
        self._step.send(peer, self._ack(term, peer, heartbeat))

    def _ack(self, term: Term, peer: Contact, heartbeat: Heartbeat) -> HeartbeatAck:
        cores, grants = self._cores, term.grants
        is_entitled = term.is_placed and grants.is_entitled(peer.id, heartbeat.incarnation)
        table = grants.table if is_entitled or (heartbeat.leaving and term.is_placed) else None
        has_table = table is not None and heartbeat.table == table.version
        knows_directory = heartbeat.directory == cores.directory.digest
        return HeartbeatAck(
            cluster=term.id.cluster,
            epoch=term.id.epoch,
            sent_us=heartbeat.sent_us,
            candidates=term.in_sync_candidates(),
            small_ring=term.roster.small_ring(cores.config.ring.successors),
            table=None if has_table else table,
            table_version=None if table is None else table.version,
            seen=term.roster.seen,
            applied=None if grants.digest == heartbeat.applied else grants.claims,
            directory=() if knows_directory else cores.directory.entries(),
        )
