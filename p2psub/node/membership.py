"""What a node does as a joiner and as a member, and when it becomes super-node or stops being it."""

from __future__ import annotations

from typing import Final

from p2psub.model.changes import LogId
from p2psub.model.ids import ClusterId, Contact, Epoch
from p2psub.model.messages.cluster import (
    ChangesReplicated,
    Heartbeat,
    HeartbeatAck,
    Left,
    NotSuperNode,
    ReplicateChanges,
    Takeover,
    Vacancy,
)
from p2psub.model.messages.cube import DirectoryResponse
from p2psub.model.messages.ring import Found
from p2psub.model.places import Standing
from p2psub.node.cores import Cores
from p2psub.node.directory_probe import DirectoryProbe
from p2psub.node.leadership import Leadership
from p2psub.overlay.cluster_choice import RoundTrips, choose_cluster
from p2psub.overlay.liveness import Fate

_FOUNDING_PATIENCE_TICKS: Final = 6
"""A cluster nobody has heard of for so many ticks does not exist yet; before, news of it may be on its way."""


class Membership:
    """Joins, follows, takes over, steps down."""

    def __init__(
        self,
        cores: Cores,
        leadership: Leadership,
        contacts: tuple[Contact, ...],
        cluster: ClusterId | None,
        score: float,
    ) -> None:
        self._cores = cores
        self._step = cores.step
        self._election = cores.election
        self._leadership = leadership
        self._contacts = contacts
        self._wanted_cluster = cluster
        self._score = score
        self._may_lead = score >= 0
        self._probe = DirectoryProbe(cores, contacts)
        self._is_agreed = False
        self._unheard_ticks = 0
        self._may_found = False
        self._is_leaving = False
        self.has_left = False
        """We hold nothing any more, and everybody knows that we go."""
        self._round_trips = RoundTrips(cores.step)

    # Time

    def tick(self) -> None:
        """Do this tick's part of the role we have; every second tick completes a heartbeat."""
        is_beat = self._step.tick % 2 == 0
        if is_beat:
            self._cores.ring.stabilise()
        if self._is_leaving:
            self._leave_if_free()
        if self._election.is_super_node:
            self._leadership.tick(is_beat)
        elif self._election.super_node is not None:
            if is_beat:
                self._send_heartbeat(self._election.super_node)
                self._cores.antientropy.beat(self._election.super_node)
        elif self._is_my_turn():
            self._take_over()
        else:
            self._seek()
            if is_beat:
                self._tell_vacancy()

    # Joining

    def _seek(self) -> None:
        """Ask around for the directory; report to our cluster's super-node, or found the cluster."""
        cores, me = self._cores, self._step.me.id
        if self._election.cluster is None:
            self._probe.ask_near()
        else:
            self._probe.ask_all()
        may_found = self._may_found or not self._probe.near()
        is_first = self._may_lead and may_found and not cores.directory.entries()
        cluster = self._election.cluster or self._wanted_cluster or self._choose_cluster(is_first)
        if cluster is None:
            return
        self._wanted_cluster = cluster
        entry = cores.directory.get(cluster)
        if is_first:
            self._leadership.begin(cluster, is_complete=True)
            cores.cube.found_overlay(cluster)
        elif entry is not None and entry.standing is not Standing.GONE and entry.super_node.id != me:
            self._send_heartbeat(entry.super_node, cluster)
        elif entry is None and cores.directory.present() and self._election.cluster is None:
            self._unheard_ticks += 1
            if self._unheard_ticks > _FOUNDING_PATIENCE_TICKS and self._may_lead:
                self._leadership.begin(cluster, is_complete=False, is_founding=True)

    def _choose_cluster(self, is_first: bool) -> ClusterId | None:
        """Nobody named a cluster: once the super-nodes' distances are known, choose; None while they are not."""
        present = self._cores.directory.present()
        if not is_first and not self._round_trips.beat([entry.super_node for entry in present]):
            return None
        chosen = choose_cluster(present, self._round_trips.measured_us, self._cores.config.cluster)
        return chosen or ClusterId(self._step.me.id.hex()[:8])

    def on_directory_response(self, peer: Contact, said: DirectoryResponse) -> None:
        """News of the cube; if our own cluster has a higher term elsewhere, follow it."""
        self._cores.cube.on_directory_response(peer, said)
        self._round_trips.answered(peer.id)
        self._may_found = said.may_found and peer in self._contacts
        cluster, directory = self._election.cluster, self._cores.directory
        if not said.entries and directory.entries() and cluster is not None and not self._election.is_super_node:
            # A bootstrap that has forgotten us would let somebody found a second overlay before one of us rules.
            self._step.send(peer, DirectoryResponse(directory.entries()))
        if self._may_found and not directory.entries() and self._election.is_super_node and cluster is not None:
            self._cores.cube.found_overlay(cluster)
        entry = None if cluster is None else directory.get(cluster)
        if entry is not None and cluster is not None and entry.epoch > self._election.epoch:
            self._follow(cluster, entry.epoch, entry.super_node)

    def _send_heartbeat(self, super_node: Contact, cluster: ClusterId | None = None) -> None:
        cores = self._cores
        heartbeat = Heartbeat(
            cluster=cluster or self._election.cluster or ClusterId(""),
            incarnation=self._step.incarnation,
            epoch=self._election.epoch,
            score=self._score,
            in_ring=cores.ring.is_joined and not self._is_leaving,
            sent_us=self._step.now,
            table=cores.match_index.obeyed,
            lacks_index=cores.match_index.is_lacking,
            applied=cores.arc_lease.claims_digest,
            directory=cores.directory.digest,
            leaving=self._is_leaving,
        )
        self._step.send(super_node, heartbeat)

    # Following

    def on_heartbeat(self, peer: Contact, heartbeat: Heartbeat) -> None:
        """A member reports to us: take it if we lead, else say who does."""
        grants = self._leadership.grants
        if grants is None or heartbeat.cluster != grants.cluster:
            known = self._election.super_node if heartbeat.cluster == self._election.cluster else None
            self._step.send(peer, NotSuperNode(heartbeat.cluster, self._election.epoch, known))
        elif heartbeat.epoch > self._election.epoch:
            # Whoever has a living super-node reports to that one. The term that it remembers is over, but it would
            # never follow one below.
            self._leadership.rise_above(heartbeat.epoch)
        else:
            self._leadership.take_heartbeat(grants, peer, heartbeat)

    def on_heartbeat_ack(self, peer: Contact, term: HeartbeatAck) -> None:
        """Our super-node's word: whom it names, which lists and tables hold, and that our lease runs on."""
        election, cores = self._election, self._cores
        if election.cluster is None and term.cluster == self._wanted_cluster:
            election.recover(term.cluster, term.epoch)
        if term.epoch < election.epoch and term.cluster == election.cluster:
            self._correct(peer, peer)
            return
        self._follow(term.cluster, term.epoch, peer)
        if term.epoch != election.epoch or term.cluster != election.cluster or election.is_super_node:
            return
        election.candidates = term.candidates
        cores.cube.learn(term.directory)
        was_joined = cores.ring.is_joined
        self._take_ring_lists(peer, term)
        if cores.ring.is_joined and not was_joined:
            # Keys are granted to whoever is in the ring: no need to wait for the next beat to say so.
            self._send_heartbeat(peer)
        if term.table is not None and term.table.version != cores.arc_lease.version:
            if self._is_leaving and cores.arc_lease.arc_under(term.table) is None:
                # Without an arc there is no index to hold; by this table we know to whom our owed events go.
                cores.arc_lease.adopt(term.table)
            else:
                cores.adopt_table(term.table)
        if term.table_version is not None and term.table_version == cores.arc_lease.version:
            cores.arc_lease.renew(term.sent_us, term.applied, term.seen)

    def _take_ring_lists(self, peer: Contact, term: HeartbeatAck) -> None:
        ring, me = self._cores.ring, self._step.me.id
        if any(contact.id == me for contact in term.small_ring):
            ring.take_small_list(term.cluster, term.small_ring)
            return
        if ring.is_small:
            ring.outgrow_small()
        if not ring.is_joined:
            ring.cluster = term.cluster
            self._cores.lookups.start(me, lambda found: self._join_ring(term.cluster, found), via=peer)

    def _join_ring(self, cluster: ClusterId, found: Found) -> None:
        if not self._cores.ring.is_joined:
            self._cores.ring.join(cluster, found)
            if self._election.super_node is not None:
                self._send_heartbeat(self._election.super_node)

    def _follow(self, cluster: ClusterId, epoch: Epoch, super_node: Contact) -> None:
        led, old = self._election.is_super_node, self._election.super_node
        if super_node.id == self._step.me.id:
            self._outlive(cluster, epoch)
            return
        if not self._election.follow(cluster, epoch, super_node):
            return
        self._cores.enter_cluster(cluster)
        if old is not None and not self._cores.liveness.is_suspect(old.id):
            # Two living terms met. The one we leave may grant what the other does not know of.
            self._cores.arc_lease.give_up()
        if led:
            self._leadership.end(super_node)
        elif self._is_in_sync and all(candidate.id != super_node.id for candidate in self._election.candidates):
            # No heir beside us, so it has not been streamed to: after a cut, it may be the heir of a lower term.
            self._cores.antientropy.bequeath(super_node)

    def _outlive(self, cluster: ClusterId, epoch: Epoch) -> None:
        """Others follow us in a term that ended with an earlier process of ours: nobody but us can end it."""
        if cluster != self._election.cluster or epoch <= self._election.epoch:
            return
        if self._election.is_super_node:
            self._leadership.rise_above(epoch)
        else:
            self._election.outlive(epoch)
            self._cores.arc_lease.give_up()

    def _tell_vacancy(self) -> None:
        """Back from our disk, we hear nobody who leads: tell those who were there when we went down."""
        cluster, cold_start = self._election.cluster, self._cores.cold_start
        if cluster is not None and cold_start.table is not None and not self._cores.ring.is_joined:
            said = Vacancy(cluster, self._step.incarnation, self._election.epoch, cold_start.table)
            for contact in cold_start.others():
                self._step.send(contact, said)

    def on_vacancy(self, peer: Contact, said: Vacancy) -> None:
        """Somebody is back: tell it who leads, if we hear one who does; else take note of it."""
        election, leader = self._election, self._election.super_node
        if said.cluster != election.cluster:
            return
        if leader is None:
            self._cores.ring.remember(peer)
            self._cores.cold_start.hear(peer, said)
            if said.epoch > election.epoch:
                election.recover(said.cluster, said.epoch)
        elif election.is_super_node or self._cores.liveness.hears(leader.id):
            self._step.send(peer, election.announcement())

    def on_takeover(self, peer: Contact, takeover: Takeover) -> None:
        if takeover.cluster != self._election.cluster:
            return
        if takeover.epoch < self._election.epoch:
            self._correct(peer, takeover.super_node)
        else:
            self._follow(takeover.cluster, takeover.epoch, takeover.super_node)

    def _correct(self, peer: Contact, lower: Contact) -> None:
        """Tell somebody who follows, or claims, an older term; if ours has no super-node, ask theirs to rise above."""
        if self._election.super_node is not None:
            self._step.send(peer, self._election.announcement())
        elif lower.id != self._step.me.id:
            self._send_heartbeat(lower)

    def on_not_super_node(self, peer: Contact, said: NotSuperNode) -> None:
        if said.cluster != self._election.cluster:
            return
        if said.super_node is not None and said.epoch >= self._election.epoch:
            self._follow(said.cluster, said.epoch, said.super_node)
        elif said.super_node is None:
            self._election.vacate(peer.id)
        elif said.super_node.id != peer.id:
            self._correct(said.super_node, said.super_node)

    def on_replicate_changes(self, peer: Contact, stream: ReplicateChanges) -> None:
        """We are a candidate: hold what we would need."""
        if stream.epoch != self._election.epoch or self._election.is_super_node:
            return
        cores, term = self._cores, LogId(stream.cluster, stream.epoch)
        for change in stream.changes:
            if cores.settlement.learn(change) and self._is_in_sync:
                cores.leases.learn(change, term, cores.arc_lease.table)
        held = ChangesReplicated(stream.cluster, stream.epoch, self._step.incarnation, self._cores.changes.as_vector())
        self._step.when_durable(lambda: self._step.send(peer, held))

    @property
    def _is_in_sync(self) -> bool:
        """Whether our super-node called us one: we held all that was known, so what we learn is news."""
        return any(candidate.id == self._step.me.id for candidate in self._election.candidates)

    def measured(self, score: float) -> None:
        """Our score has changed; whether we may lead at all has not."""
        if self._may_lead:
            self._score = max(0.0, score)

    # Leaving

    def leave(self) -> None:
        """Take no more keys, lead no more, and go once everything we hold is held by others."""
        self._is_leaving, self._may_lead = True, False
        if self._election.super_node is not None and not self._election.is_super_node:
            self._send_heartbeat(self._election.super_node)

    def _leave_if_free(self) -> None:
        cores, election = self._cores, self._election
        if self.has_left:
            return
        if election.is_super_node and any(not member.heartbeat.leaving for member in cores.roster.members.values()):
            if cores.settlement.in_sync_candidates():
                self._leadership.hand_over()
            return
        if election.is_super_node or not (cores.arc_lease.is_owner or cores.owed_events.held or len(cores.outbox)):
            self.has_left = True
            for contact in cores.known_members():
                if contact.id != self._step.me.id and election.cluster is not None:
                    self._step.send(contact, Left(election.cluster))

    def on_left(self, peer: Contact, left: Left) -> None:
        """A member has gone in good order: nobody waits for its death, and no copy is expected of it."""
        if left.cluster == self._election.cluster:
            self._cores.ring.forget(peer.id)
            self._cores.ring.remembered.pop(peer.id, None)
            self._cores.roster.dismiss(peer.id)

    # Succession

    def pronounced(self, contact: Contact, fate: Fate) -> None:
        """Liveness gave a verdict."""
        self._cores.ring.forget(contact.id)
        if fate is Fate.DEAD:
            self._election.vacate(contact.id)
        if self._election.is_super_node:
            self._cores.roster.drop(contact.id)

    def _is_my_turn(self) -> bool:
        if not self._election.is_vacant or not self._may_lead:
            return False
        # Out of the ring we cannot know what the others decided, so we wait as long as one who hears nobody; unless
        # all the others are as we are.
        cores, known = self._cores, self._cores.known_members()
        if cores.ring.is_joined:
            return self._election.is_my_turn(known, cores.liveness.hears_anybody())
        is_agreed, table = cores.cold_start.is_agreed, cores.cold_start.table
        if is_agreed and not self._is_agreed:
            self._is_agreed = True
            self._election.begin_succession()
        # Who is not in the last table may have missed something: those who are come first.
        owners = () if table is None else table.owners
        return self._election.is_my_turn([*owners, *known], is_agreed)

    def _take_over(self) -> None:
        """The succession is ours. Whoever was streamed to has everything; anybody else must be filled first."""
        cluster = self._election.cluster
        assert cluster is not None
        is_alone = len(self._cores.known_members()) == 1 and len(self._cores.directory.present()) <= 1
        # Without a table we have forgotten, or never learnt, how many we were: the bar for copies must not fall.
        has_forgotten = self._cores.arc_lease.table is None and not is_alone and not self._leadership.is_cold_start
        seen_min = 2 * self._cores.config.pubsub.copies if has_forgotten else 1
        self._leadership.begin(cluster, self._is_in_sync or is_alone, seen_min)
        self._leadership.announce()
