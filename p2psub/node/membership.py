"""How a node follows its super-node, holds its changes as a candidate, and takes over when the super-node is lost."""

from __future__ import annotations

from p2psub.model.changes import LogId
from p2psub.model.ids import ClusterId, Contact, Epoch
from p2psub.model.messages.cluster import (
    ChangesReplicated,
    Heartbeat,
    HeartbeatAck,
    NotSuperNode,
    ReplicateChanges,
    Takeover,
)
from p2psub.model.messages.ring import Found
from p2psub.node.cores import Cores
from p2psub.node.leadership import Leadership
from p2psub.node.life_cycle import Happening, LifeCycle
from p2psub.overlay.liveness import Fate


class Membership:
    """What a node does as a member of its cluster."""

    def __init__(self, cores: Cores, life: LifeCycle, leadership: Leadership, score: float) -> None:
        self._cores = cores
        self._step = cores.step
        self._election = cores.election
        self._life = life
        self._leadership = leadership
        self._score = score
        self._has_right_to_lead = score >= 0
        self._is_agreed = False

    @property
    def may_found(self) -> bool:
        """Whether we have the right to lead, and do not leave."""
        return self._has_right_to_lead and not self._life.is_leaving

    def measured(self, score: float) -> None:
        """Our score has changed; whether we may lead at all has not."""
        if self._has_right_to_lead:
            self._score = max(0.0, score)

    # Following

    def beat(self, super_node: Contact) -> None:
        """Once a heartbeat: tell our super-node that we are there."""
        self.send_heartbeat(super_node)
        self._cores.antientropy.beat(super_node)

    def send_heartbeat(self, super_node: Contact, cluster: ClusterId | None = None) -> None:
        """Tell a super-node that we are there, and what we have; `cluster` if we are not in it yet."""
        cores, met = self._cores, self._cores.table_met()
        heartbeat = Heartbeat(
            cluster=cluster or self._election.cluster or ClusterId(""),
            incarnation=self._step.incarnation,
            epoch=self._election.epoch,
            score=self._score,
            in_ring=cores.ring.is_joined,
            sent_us=self._step.now,
            table=cores.owner.match_index.obeyed,
            lacks_index=cores.owner.match_index.is_lacking,
            applied=cores.arc_lease.claims_digest,
            directory=cores.directory.digest,
            leaving=self._life.is_leaving,
            met=met,
            met_lately=met is not None and cores.arc_lease.is_fresh,
        )
        self._step.send(super_node, heartbeat)

    def on_heartbeat(self, peer: Contact, heartbeat: Heartbeat) -> None:
        """A member sends us a heartbeat: take it if we lead, else name the super-node."""
        term = self._cores.office.term
        if term is None or heartbeat.cluster != term.id.cluster:
            known = self._election.super_node if heartbeat.cluster == self._election.cluster else None
            self._step.send(peer, NotSuperNode(heartbeat.cluster, self._election.epoch, known))
        elif heartbeat.epoch > self._election.epoch:
            # A member with a living super-node sends its heartbeats there. The term that this one remembers is over,
            # but it would never follow one below.
            self._leadership.rise_above(heartbeat.epoch)
        else:
            self._leadership.take_heartbeat(term, peer, heartbeat)

    def on_heartbeat_ack(self, peer: Contact, ack: HeartbeatAck) -> None:
        """Our super-node's word: its in-sync candidates, which lists and tables hold, and that our lease runs on."""
        election, cores = self._election, self._cores
        if election.cluster is None and ack.cluster == election.wanted:
            election.recover(ack.cluster, ack.epoch)
        if ack.epoch < election.epoch and ack.cluster == election.cluster:
            self._correct(peer, peer)
            return
        self.follow(ack.cluster, ack.epoch, peer)
        if ack.epoch != election.epoch or ack.cluster != election.cluster or election.is_super_node:
            return
        election.name(ack.candidates)
        cores.cube.learn(ack.directory)
        was_joined = cores.ring.is_joined
        self._take_ring_lists(peer, ack)
        if cores.ring.is_joined and not was_joined:
            self._life.note(Happening.ENTERED_RING)
            # Keys are granted to members that are in the ring: no need to wait for the next beat to say so.
            self.send_heartbeat(peer)
        self._life.note(Happening.CHOSEN if self._is_in_sync else Happening.NOT_CHOSEN)
        if ack.table is not None and ack.table.version != cores.arc_lease.version:
            if self._life.is_leaving and cores.arc_lease.arc_under(ack.table) is None:
                # Without an arc there is no index to hold; by this table we know which owners get our owed events.
                cores.arc_lease.adopt(ack.table)
            else:
                cores.adopt_table(ack.table)
        if ack.table_version is not None:
            cores.office.be_succeeded()
        if ack.table_version is not None and ack.table_version == cores.arc_lease.version:
            cores.arc_lease.renew(ack.sent_us, ack.applied, ack.seen)

    def _take_ring_lists(self, peer: Contact, ack: HeartbeatAck) -> None:
        ring, me = self._cores.ring, self._step.me.id
        if any(contact.id == me for contact in ack.small_ring):
            ring.take_small_list(ack.small_ring)
            return
        if ring.is_small:
            ring.outgrow_small()
        if not ring.is_joined:
            self._cores.lookups.start(me, self._join_ring, via=peer)

    def _join_ring(self, found: Found) -> None:
        if not self._cores.ring.is_joined:
            if self._cores.ring.join(found):
                self._life.note(Happening.ENTERED_RING)
            if self._election.super_node is not None:
                self.send_heartbeat(self._election.super_node)

    def follow(self, cluster: ClusterId, epoch: Epoch, super_node: Contact) -> None:
        """Follow the super-node of this epoch, unless we follow a higher one."""
        old = self._election.super_node
        if super_node.id == self._step.me.id:
            self._outlive(cluster, epoch)
            return
        if not self._election.follow(cluster, epoch, super_node):
            return
        if old is not None and not self._cores.liveness.is_suspect(old.id):
            # Two living terms met. The one we leave may grant what the other does not know of.
            self._cores.arc_lease.give_up()
        if self._cores.office.term is not None:
            self._leadership.step_down(super_node)
        elif self._is_in_sync and all(candidate.id != super_node.id for candidate in self._election.candidates):
            # It was not in sync beside us, so it may lack what we hold: after a cut, it may come from a lower term.
            self._cores.antientropy.bequeath(super_node)
        self._life.note(Happening.HEARD_SUPER_NODE)

    def _outlive(self, cluster: ClusterId, epoch: Epoch) -> None:
        """Others follow us in a term that ended with an earlier process of ours: only we can end it."""
        if cluster != self._election.cluster or epoch <= self._election.epoch:
            return
        if self._cores.office.term is not None:
            self._leadership.rise_above(epoch)
        else:
            self._election.outlive(epoch)
            self._cores.arc_lease.give_up()
            self._life.note(Happening.LOST_SUPER_NODE)

    def on_takeover(self, peer: Contact, takeover: Takeover) -> None:
        """A term has begun, or goes on where we did not know of it."""
        if takeover.cluster != self._election.cluster:
            return
        if takeover.epoch < self._election.epoch:
            self._correct(peer, takeover.super_node)
        else:
            self.follow(takeover.cluster, takeover.epoch, takeover.super_node)

    def _correct(self, peer: Contact, lower: Contact) -> None:
        """Tell a peer that follows, or claims, an older term; if ours has no super-node, ask theirs to rise above."""
        if self._election.super_node is not None:
            self._step.send(peer, self._election.announcement())
        elif lower.id != self._step.me.id:
            self.send_heartbeat(lower)

    def on_not_super_node(self, peer: Contact, said: NotSuperNode) -> None:
        """The peer leads our cluster no more, or never did."""
        if said.cluster != self._election.cluster:
            return
        if said.super_node is not None and said.epoch >= self._election.epoch:
            self.follow(said.cluster, said.epoch, said.super_node)
        elif said.super_node is None:
            self._lose(peer)
        elif said.super_node.id != peer.id:
            self._correct(said.super_node, said.super_node)

    def _lose(self, peer: Contact) -> None:
        if self._election.vacate(peer.id):
            self._life.note(Happening.LOST_SUPER_NODE)

    # Being a candidate

    @property
    def _is_in_sync(self) -> bool:
        """Whether our super-node called us in sync: we held all that was known, so what we learn is news."""
        return any(candidate.id == self._step.me.id for candidate in self._election.candidates)

    def on_replicate_changes(self, peer: Contact, replicate: ReplicateChanges) -> None:
        """We are a candidate: hold what we would need."""
        if replicate.epoch != self._election.epoch or self._election.is_super_node:
            return
        cores, log = self._cores, LogId(replicate.cluster, replicate.epoch)
        for change in replicate.changes:
            if cores.office.learn(change) and self._is_in_sync:
                cores.office.lapses.learn(change, log, cores.arc_lease.table)
        held = ChangesReplicated(log.cluster, log.epoch, self._step.incarnation, cores.changes.as_vector())
        self._step.when_durable(lambda: self._step.send(peer, held))

    # Succession

    def pronounced(self, contact: Contact, fate: Fate) -> None:
        """Liveness gave a verdict."""
        self._cores.ring.forget(contact.id)
        if fate is Fate.DEAD:
            self._lose(contact)
        if self._cores.office.term is not None:
            self._cores.office.term.roster.drop(contact.id)

    def is_my_turn(self) -> bool:
        """Count one tick of a vacancy; True when it is ours to take over."""
        if not self._election.is_vacant or not self._has_right_to_lead:
            return False
        # Out of the ring we cannot know what the others decided, so we wait as long as a node that hears no other;
        # unless all the others are as we are.
        cores, known = self._cores, self._cores.known_members()
        if self._life.is_leaving:
            # We come after all others, unless our super-node has named us for want of others.
            known = [contact for contact in known if contact.id != self._step.me.id]
        if cores.ring.is_joined:
            return self._election.is_my_turn(known, cores.liveness.hears_anybody())
        is_agreed, table = cores.cold_start.is_agreed, cores.cold_start.table
        if is_agreed and not self._is_agreed:
            self._is_agreed = True
            self._election.begin_succession()
        # A member that is not in the last table may have missed something: those in it come first.
        owners = () if table is None else table.owners
        return self._election.is_my_turn([*owners, *known], is_agreed)

    def take_over(self) -> None:
        """The succession is ours. An in-sync candidate has everything; any other member must be filled first."""
        cluster = self._election.cluster
        assert cluster is not None
        is_alone = len(self._cores.known_members()) == 1 and len(self._cores.directory.present()) <= 1
        # Without a fresh word we cannot know how many we are by now: the bar for copies must not fall.
        is_told = self._cores.arc_lease.is_fresh or is_alone or self._leadership.is_cold_start
        assumed_min = 0 if is_told else 2 * self._cores.config.pubsub.copies
        is_complete = self._is_in_sync and self._election.is_fresh
        self._leadership.take_over(cluster, is_complete or is_alone, assumed_min)
