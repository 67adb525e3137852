"""What a node does as a joiner and as a member, and when it becomes super-node or stops being it."""

from __future__ import annotations

from typing import Final

from p2psub.model.changes import Stream
from p2psub.model.ids import ClusterId, Contact, Epoch
from p2psub.model.messages.cluster import Left, NotSuperNode, Reign, Report, StreamHeld, StreamState, Takeover, Vacancy
from p2psub.model.messages.cube import DirectorySay
from p2psub.model.messages.ring import Found
from p2psub.model.places import Standing
from p2psub.node.asking import Asking
from p2psub.node.cores import Cores
from p2psub.node.ruling import Ruling
from p2psub.overlay.joining import RoundTrips, choose_cluster
from p2psub.overlay.liveness import Fate

_FOUNDING_PATIENCE_TICKS: Final = 6
"""A cluster nobody has heard of for so many ticks does not exist yet; before, news of it may be on its way."""


class Roles:
    """Joins, follows, takes over, steps down."""

    def __init__(
        self, cores: Cores, ruling: Ruling, contacts: tuple[Contact, ...], cluster: ClusterId | None, score: float
    ) -> None:
        self._cores = cores
        self._step = cores.step
        self._election = cores.election
        self._ruling = ruling
        self._contacts = contacts
        self._wanted_cluster = cluster
        self._score = score
        self._may_rule = score >= 0
        self._tick = 0
        self._asking = Asking(cores, contacts)
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
        self._tick += 1
        is_beat = self._tick % 2 == 0
        if is_beat:
            self._cores.ring.stabilise()
        if self._is_leaving:
            self._leave_if_free()
        if self._election.rules:
            self._ruling.tick(is_beat)
        elif self._election.super_node is not None:
            if is_beat:
                self._report(self._election.super_node)
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
            self._asking.ask_near()
        else:
            self._asking.ask_all()
        may_found = self._may_found or not self._asking.near()
        is_first = self._may_rule and may_found and not cores.directory.entries()
        cluster = self._election.cluster or self._wanted_cluster or self._choose_cluster(is_first)
        if cluster is None:
            return
        self._wanted_cluster = cluster
        entry = cores.directory.get(cluster)
        if is_first:
            self._ruling.begin(cluster, is_complete=True)
            cores.cube.found_overlay(cluster)
        elif entry is not None and entry.standing is not Standing.GONE and entry.super_node.id != me:
            self._report(entry.super_node, cluster)
        elif entry is None and cores.directory.present() and self._election.cluster is None:
            self._unheard_ticks += 1
            if self._unheard_ticks > _FOUNDING_PATIENCE_TICKS and self._may_rule:
                self._ruling.begin(cluster, is_complete=False, is_founding=True)

    def _choose_cluster(self, is_first: bool) -> ClusterId | None:
        """Nobody named a cluster: once the super-nodes' distances are known, choose; None while they are not."""
        present = self._cores.directory.present()
        if not is_first and not self._round_trips.beat([entry.super_node for entry in present]):
            return None
        chosen = choose_cluster(present, self._round_trips.measured_us, self._cores.config.cluster)
        return chosen or ClusterId(self._step.me.id.hex()[:8])

    def on_directory_say(self, peer: Contact, said: DirectorySay) -> None:
        """News of the cube; if our own cluster has a higher reign elsewhere, follow it."""
        self._cores.cube.on_directory_say(peer, said)
        self._round_trips.answered(peer.id)
        self._may_found = said.may_found and peer in self._contacts
        cluster, directory = self._election.cluster, self._cores.directory
        if not said.entries and directory.entries() and cluster is not None and not self._election.rules:
            # A bootstrap that has forgotten us would let somebody found a second overlay before one of us rules.
            self._step.send(peer, DirectorySay(directory.entries()))
        if self._may_found and not directory.entries() and self._election.rules and cluster is not None:
            self._cores.cube.found_overlay(cluster)
        entry = None if cluster is None else directory.get(cluster)
        if entry is not None and cluster is not None and entry.epoch > self._election.epoch:
            self._follow(cluster, entry.epoch, entry.super_node)

    def _report(self, super_node: Contact, cluster: ClusterId | None = None) -> None:
        cores = self._cores
        report = Report(
            cluster=cluster or self._election.cluster or ClusterId(""),
            incarnation=self._step.incarnation,
            epoch=self._election.epoch,
            score=self._score,
            in_ring=cores.ring.is_joined and not self._is_leaving,
            sent_us=self._step.now,
            table=cores.interests.obeyed,
            lacks_index=cores.interests.is_lacking,
            settled=cores.tenure.claims_digest,
            directory=cores.directory.digest,
            leaving=self._is_leaving,
        )
        self._step.send(super_node, report)

    # Following

    def on_report(self, peer: Contact, report: Report) -> None:
        """A member reports to us: take it if we rule, else say who does."""
        grants = self._ruling.grants
        if grants is None or report.cluster != grants.cluster:
            known = self._election.super_node if report.cluster == self._election.cluster else None
            self._step.send(peer, NotSuperNode(report.cluster, self._election.epoch, known))
        elif report.epoch > self._election.epoch:
            # Whoever has a living super-node reports to that one. The reign that it remembers is over, but it would
            # never follow one below.
            self._ruling.rise_above(report.epoch)
        else:
            self._ruling.take_report(grants, peer, report)

    def on_reign(self, peer: Contact, reign: Reign) -> None:
        """Our super-node's word: whom it names, which lists and tables hold, and that our lease runs on."""
        election, cores = self._election, self._cores
        if election.cluster is None and reign.cluster == self._wanted_cluster:
            election.recover(reign.cluster, reign.epoch)
        if reign.epoch < election.epoch and reign.cluster == election.cluster:
            self._correct(peer, peer)
            return
        self._follow(reign.cluster, reign.epoch, peer)
        if reign.epoch != election.epoch or reign.cluster != election.cluster or election.rules:
            return
        election.candidates = reign.candidates
        cores.cube.learn(reign.directory)
        was_joined = cores.ring.is_joined
        self._take_ring_lists(peer, reign)
        if cores.ring.is_joined and not was_joined:
            # Keys are granted to whoever is in the ring: no need to wait for the next beat to say so.
            self._report(peer)
        if reign.table is not None and reign.table.version != cores.tenure.version:
            if self._is_leaving and cores.tenure.arc_under(reign.table) is None:
                # Without an arc there is no index to hold; by this table we know to whom our deeds go.
                cores.tenure.adopt(reign.table)
            else:
                cores.adopt_table(reign.table)
        if reign.table_version is not None and reign.table_version == cores.tenure.version:
            cores.tenure.renew(reign.sent_us, reign.settled, reign.seen)

    def _take_ring_lists(self, peer: Contact, reign: Reign) -> None:
        ring, me = self._cores.ring, self._step.me.id
        if any(contact.id == me for contact in reign.small_ring):
            ring.take_small_list(reign.cluster, reign.small_ring)
            return
        if ring.is_small:
            ring.outgrow_small()
        if not ring.is_joined:
            ring.cluster = reign.cluster
            self._cores.lookups.start(me, lambda found: self._join_ring(reign.cluster, found), via=peer)

    def _join_ring(self, cluster: ClusterId, found: Found) -> None:
        if not self._cores.ring.is_joined:
            self._cores.ring.join(cluster, found)
            if self._election.super_node is not None:
                self._report(self._election.super_node)

    def _follow(self, cluster: ClusterId, epoch: Epoch, super_node: Contact) -> None:
        ruled, old = self._election.rules, self._election.super_node
        if super_node.id == self._step.me.id:
            self._outlive(cluster, epoch)
            return
        if not self._election.follow(cluster, epoch, super_node):
            return
        self._cores.enter_cluster(cluster)
        if old is not None and not self._cores.liveness.is_suspect(old.id):
            # Two living reigns met. The one we leave may grant what the other does not know of.
            self._cores.tenure.give_up()
        if ruled:
            self._ruling.end(super_node)
        elif self._is_heir and all(candidate.id != super_node.id for candidate in self._election.candidates):
            # No heir beside us, so it has not been streamed to: after a cut, it may be the heir of a lower reign.
            self._cores.antientropy.bequeath(super_node)

    def _outlive(self, cluster: ClusterId, epoch: Epoch) -> None:
        """Others follow us in a reign that ended with an earlier process of ours: nobody but us can end it."""
        if cluster != self._election.cluster or epoch <= self._election.epoch:
            return
        if self._election.rules:
            self._ruling.rise_above(epoch)
        else:
            self._election.outlive(epoch)
            self._cores.tenure.give_up()

    def _tell_vacancy(self) -> None:
        """Back from our disk, we hear nobody who rules: tell those who were there when we went down."""
        cluster, regathering = self._election.cluster, self._cores.regathering
        if cluster is not None and regathering.table is not None and not self._cores.ring.is_joined:
            said = Vacancy(cluster, self._step.incarnation, self._election.epoch, regathering.table)
            for contact in regathering.others():
                self._step.send(contact, said)

    def on_vacancy(self, peer: Contact, said: Vacancy) -> None:
        """Somebody is back: tell it who rules, if we hear one who does; else take note of it."""
        election, ruler = self._election, self._election.super_node
        if said.cluster != election.cluster:
            return
        if ruler is None:
            self._cores.ring.remember(peer)
            self._cores.regathering.hear(peer, said)
            if said.epoch > election.epoch:
                election.recover(said.cluster, said.epoch)
        elif election.rules or self._cores.liveness.hears(ruler.id):
            self._step.send(peer, election.announcement())

    def on_takeover(self, peer: Contact, takeover: Takeover) -> None:
        if takeover.cluster != self._election.cluster:
            return
        if takeover.epoch < self._election.epoch:
            self._correct(peer, takeover.super_node)
        else:
            self._follow(takeover.cluster, takeover.epoch, takeover.super_node)

    def _correct(self, peer: Contact, lower: Contact) -> None:
        """Tell somebody who follows, or claims, an older reign; if ours has no super-node, ask theirs to rise above."""
        if self._election.super_node is not None:
            self._step.send(peer, self._election.announcement())
        elif lower.id != self._step.me.id:
            self._report(lower)

    def on_not_super_node(self, peer: Contact, said: NotSuperNode) -> None:
        if said.cluster != self._election.cluster:
            return
        if said.super_node is not None and said.epoch >= self._election.epoch:
            self._follow(said.cluster, said.epoch, said.super_node)
        elif said.super_node is None:
            self._election.vacate(peer.id)
        elif said.super_node.id != peer.id:
            self._correct(said.super_node, said.super_node)

    def on_stream_state(self, peer: Contact, stream: StreamState) -> None:
        """We are a candidate: hold what we would need."""
        if stream.epoch != self._election.epoch or self._election.rules:
            return
        cores, reign = self._cores, Stream(stream.cluster, stream.epoch)
        for change in stream.changes:
            if cores.settlement.learn(change) and self._is_heir:
                cores.leases.learn(change, reign, cores.tenure.table)
        held = StreamHeld(stream.cluster, stream.epoch, self._step.incarnation, self._cores.changes.as_vector())
        self._step.when_durable(lambda: self._step.send(peer, held))

    @property
    def _is_heir(self) -> bool:
        """Whether our super-node called us one: we held all that was known, so what we learn is news."""
        return any(candidate.id == self._step.me.id for candidate in self._election.candidates)

    def measured(self, score: float) -> None:
        """Our score has changed; whether we may rule at all has not."""
        if self._may_rule:
            self._score = max(0.0, score)

    # Leaving

    def leave(self) -> None:
        """Take no more keys, rule no more, and go once everything we hold is held by others."""
        self._is_leaving, self._may_rule = True, False
        if self._election.super_node is not None and not self._election.rules:
            self._report(self._election.super_node)

    def _leave_if_free(self) -> None:
        cores, election = self._cores, self._election
        if self.has_left:
            return
        if election.rules and any(not member.report.leaving for member in cores.roster.members.values()):
            if cores.settlement.heirs():
                self._ruling.hand_over()
            return
        if election.rules or not (cores.tenure.is_owner or cores.deeds.held or len(cores.publishing)):
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
        if self._election.rules:
            self._cores.roster.drop(contact.id)

    def _is_my_turn(self) -> bool:
        if not self._election.is_vacant or not self._may_rule:
            return False
        # Out of the ring we cannot know what the others decided, so we wait as long as one who hears nobody; unless
        # all the others are as we are.
        cores, known = self._cores, self._cores.known_members()
        if cores.ring.is_joined:
            return self._election.is_my_turn(known, cores.liveness.hears_anybody())
        cores.regathering.tick()
        is_agreed, table = cores.regathering.is_agreed, cores.regathering.table
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
        has_forgotten = self._cores.tenure.table is None and not is_alone and not self._ruling.is_regathered
        seen_min = 2 * self._cores.config.pubsub.copies if has_forgotten else 1
        self._ruling.begin(cluster, self._is_heir or is_alone, seen_min)
        self._ruling.announce()
