"""What a node does as a joiner, a member and a super-node. Reports and reigns carry everything a cluster agrees on."""

from __future__ import annotations

from collections.abc import Callable

from p2psub.casts.cast import Casts
from p2psub.config import NodeConfig
from p2psub.model.ids import ClusterId, Contact, Epoch
from p2psub.model.instants import Micros
from p2psub.model.messages.cluster import NotSuperNode, Reign, Report, StreamHeld, StreamState, Takeover
from p2psub.model.messages.cube import DirectoryAsk, DirectorySay
from p2psub.model.messages.pubsub import Subscribe
from p2psub.model.messages.ring import Found
from p2psub.model.places import Standing
from p2psub.model.step import Step
from p2psub.overlay.directory import Directory
from p2psub.overlay.election import Election
from p2psub.overlay.hypercube import Hypercube
from p2psub.overlay.joining import RoundTrips, choose_cluster
from p2psub.overlay.liveness import Fate, Liveness
from p2psub.overlay.lookup import Lookups
from p2psub.overlay.ring import Ring
from p2psub.overlay.roster import Roster
from p2psub.pubsub.antientropy import AntiEntropy
from p2psub.pubsub.changes import ChangeSet
from p2psub.pubsub.grants import Grants
from p2psub.pubsub.interests import Interests
from p2psub.pubsub.settlement import Settlement, claims_on_takeover
from p2psub.pubsub.tenure import Tenure

_FILL_PATIENCE_TICKS = 60
"""A super-node that took over without the state, and finds nobody who has it, goes on with what it has."""


_FOUNDING_PATIENCE_BEATS = 3
"""A cluster nobody has heard of for so many beats does not exist yet; before, news of it may be on its way."""


class Roles:
    """Joins, follows, takes over, steps down."""

    def __init__(
        self,
        step: Step,
        config: NodeConfig,
        contacts: tuple[Contact, ...],
        cluster: ClusterId | None,
        score: float,
    ) -> None:
        self._step = step
        self._config = config
        self._contacts = contacts
        self._wanted_cluster = cluster
        self._score = score
        self._tick = 0
        self._asked = 0
        self._incomplete_ticks = 0
        self._unheard_beats = 0
        self._round_trips = RoundTrips(step)
        self.grants: Grants | None = None
        self.liveness: Liveness
        self.ring: Ring
        self.lookups: Lookups
        self.election: Election
        self.roster: Roster
        self.directory: Directory
        self.cube: Hypercube
        self.casts: Casts
        self.changes: ChangeSet
        self.tenure: Tenure
        self.interests: Interests
        self.settlement: Settlement
        self.antientropy: AntiEntropy
        self.cluster_changed: Callable[[ClusterId], None]

    # Time

    @property
    def is_beat_next(self) -> bool:
        """Whether the coming tick completes a heartbeat."""
        return self._tick % 2 == 1

    def tick(self) -> None:
        """Do this tick's part of the role we have."""
        self._tick += 1
        is_beat = self._tick % 2 == 0
        if self.election.rules:
            self._rule(is_beat)
        elif self.election.super_node is not None:
            if is_beat:
                self._report(self.election.super_node)
        elif self._is_my_turn():
            self._take_over()
        elif is_beat:
            self._seek()

    def _is_my_turn(self) -> bool:
        if not self.election.is_vacant:
            return False
        # Out of the ring we cannot know what the others decided, so we wait as long as one who hears nobody.
        hears = self.ring.is_joined and self.liveness.hears_anybody()
        return self.election.is_my_turn(self.known_members(), hears)

    def known_members(self) -> list[Contact]:
        """Everybody we know of in our cluster, ourselves included."""
        owners = () if self.tenure.table is None else self.tenure.table.owners
        known = {contact.id: contact for contact in (self._step.me, *owners, *self.ring.remembered.values())}
        return [known[node] for node in sorted(known)]

    # Joining

    def _seek(self) -> None:
        """Ask around for the directory; report to our cluster's super-node, or found the cluster."""
        around = [*self._contacts, *self.ring.remembered.values()]
        around = [contact for contact in around if contact.id != self._step.me.id]
        if around:
            self._asked += 1
            self._step.send(around[self._asked % len(around)], DirectoryAsk())
        cluster = self.election.cluster or self._wanted_cluster or self._choose_cluster(bool(around))
        if cluster is None:
            return
        self._wanted_cluster = cluster
        if not around and not self.directory.entries():
            self._found_overlay(cluster)
            return
        entry = self.directory.get(cluster)
        if entry is not None and entry.standing is not Standing.GONE and entry.super_node.id != self._step.me.id:
            self._report(entry.super_node, cluster)
        elif entry is None and self.directory.present() and self.election.cluster is None:
            self._unheard_beats += 1
            if self._unheard_beats > _FOUNDING_PATIENCE_BEATS:
                self._begin_reign(cluster)

    def _choose_cluster(self, has_contacts: bool) -> ClusterId | None:
        """Nobody named a cluster: once the super-nodes' distances are known, choose; None while they are not."""
        present = self.directory.present()
        if has_contacts and not self._round_trips.beat([entry.super_node for entry in present]):
            return None
        chosen = choose_cluster(present, self._round_trips.measured_us, self._config.cluster)
        return chosen or ClusterId(self._step.me.id.hex()[:8])

    def _found_overlay(self, cluster: ClusterId) -> None:
        self._begin_reign(cluster)
        self.settlement.is_complete = True
        self.cube.found_overlay(cluster)

    def _report(self, super_node: Contact, cluster: ClusterId | None = None) -> None:
        report = Report(
            cluster=cluster or self.election.cluster or ClusterId(""),
            incarnation=self._step.incarnation,
            epoch=self.election.epoch,
            score=self._score,
            in_ring=self.ring.is_joined,
            sent_us=self._step.now,
            table=self.tenure.version,
            lacks_index=self.interests.is_lacking,
            settled=self.tenure.vector_digest,
            directory=self.directory.digest,
        )
        self._step.send(super_node, report)

    # Following

    def on_reign(self, peer: Contact, reign: Reign) -> None:
        """Our super-node's word: whom it names, which lists and tables hold, and that our lease runs on."""
        if self.election.cluster is None and reign.cluster == self._wanted_cluster:
            self.election.recover(reign.cluster, reign.epoch)
        if reign.epoch < self.election.epoch and reign.cluster == self.election.cluster:
            self._correct(peer)
            return
        self._follow(reign.cluster, reign.epoch, peer)
        if reign.epoch != self.election.epoch or reign.cluster != self.election.cluster or self.election.rules:
            return
        self.election.candidates = reign.candidates
        self.directory.merge(reign.directory)
        self._take_ring_lists(peer, reign)
        if reign.table is not None and reign.table.version != self.tenure.version:
            self.ring.remember(*reign.table.owners)
            if self.interests.adopt(reign.table):
                self.tenure.adopt(reign.table)
                self._step.write("membership", ("contacts",), tuple(self.known_members()))
        if reign.table_version is not None and reign.table_version == self.tenure.version:
            self.tenure.renew(reign.sent_us, None if reign.settled is None else dict(reign.settled))

    def _take_ring_lists(self, peer: Contact, reign: Reign) -> None:
        if any(contact.id == self._step.me.id for contact in reign.small_ring):
            self.ring.take_small_list(reign.cluster, reign.small_ring)
            return
        if self.ring.is_small:
            self.ring.outgrow_small()
        if not self.ring.is_joined:
            self.ring.cluster = reign.cluster
            self.lookups.start(self._step.me.id, lambda found: self._join_ring(reign.cluster, found), via=peer)

    def _join_ring(self, cluster: ClusterId, found: Found) -> None:
        if not self.ring.is_joined:
            self.ring.join(cluster, found)

    def _follow(self, cluster: ClusterId, epoch: Epoch, super_node: Contact) -> None:
        ruled, was_vacant = self.election.rules, self.election.is_vacant
        old = self.election.super_node
        if super_node.id == self._step.me.id or not self.election.follow(cluster, epoch, super_node):
            return
        self.cluster_changed(cluster)
        if not was_vacant and old is not None:
            # Two reigns met. The one we leave may have granted what the other does not know of.
            self.tenure.give_up()
        if ruled:
            self._step_down(super_node)

    def _step_down(self, successor: Contact) -> None:
        self.casts.abandon()
        self.settlement.abdicate()
        self.grants = None
        self.roster.restart([])
        # What we numbered must not be lost with our reign.
        self.antientropy.offer(successor)

    def on_takeover(self, peer: Contact, takeover: Takeover) -> None:
        if takeover.cluster != self.election.cluster:
            return
        if takeover.epoch < self.election.epoch:
            self._correct(peer)
        else:
            self._follow(takeover.cluster, takeover.epoch, takeover.super_node)

    def _correct(self, peer: Contact) -> None:
        """Tell somebody who follows, or claims, an older reign."""
        if self.election.super_node is not None:
            self._step.send(peer, self.election.announcement())

    def on_not_super_node(self, peer: Contact, said: NotSuperNode) -> None:
        if said.cluster != self.election.cluster:
            return
        if said.super_node is not None and said.epoch >= self.election.epoch:
            self._follow(said.cluster, said.epoch, said.super_node)
        elif said.super_node is None:
            self.election.vacate(peer.id)

    def pronounced(self, contact: Contact, fate: Fate) -> None:
        """Liveness gave a verdict."""
        self.ring.forget(contact.id)
        if fate is Fate.DEAD:
            self.election.vacate(contact.id)
        if self.election.rules:
            self.roster.drop(contact.id)

    def on_stream_state(self, peer: Contact, stream: StreamState) -> None:
        """We are a candidate: hold what we would need."""
        if stream.epoch != self.election.epoch or self.election.rules:
            return
        for change in stream.changes:
            self.settlement.learn(change)
        held = StreamHeld(stream.cluster, stream.epoch, self.changes.as_vector())
        self._step.when_durable(lambda: self._step.send(peer, held))

    # Ruling

    def _take_over(self) -> None:
        """The succession is ours. Whoever was streamed to has everything; anybody else must be filled first."""
        assert self.election.cluster is not None
        was_streamed = any(candidate.id == self._step.me.id for candidate in self.election.candidates)
        others = [e for e in self.directory.present() if e.cluster != self.election.cluster]
        known = self.known_members()
        self._begin_reign(self.election.cluster)
        self.settlement.is_complete = was_streamed or not others
        self.roster.restart(known)
        for contact in known:
            if contact.id != self._step.me.id:
                self._step.send(contact, self.election.announcement())

    def _begin_reign(self, cluster: ClusterId) -> None:
        self.casts.abandon()
        self.election.rule(cluster)
        self.cluster_changed(cluster)
        if not self.ring.is_joined:
            self.ring.found(cluster)
        config, epoch = self._config, self.election.epoch
        claims = claims_on_takeover(self.tenure.vector, self.changes.vector)
        self.grants = Grants(
            self._step, config.cluster, config.cube, config.tick_us, self.roster, self.changes, cluster, epoch,
            vector=claims,
        )
        if self.tenure.table is not None:
            self.grants.quarantine_until_us = Micros(self._step.now + self.grants.lease_us)
        self._incomplete_ticks = 0
        self.settlement.reign(self.grants, is_complete=False)

    def _rule(self, is_beat: bool) -> None:
        grants = self.grants
        assert grants is not None
        self.roster.tick()
        if self._tick % self._config.ring.merge_every_ticks == 0:
            self._probe_for_other_reign()
        self._hand_out_small_ring(grants.cluster)
        if self.settlement.is_complete:
            if grants.tick():
                self.settlement.table_changed()
            if self.is_placed:
                self._grant_myself(grants)
        else:
            self._fill()
        self.settlement.tick()
        self.cube.tick()
        self.casts.tick()
        if self.cube.entry is None:
            self._seek_place(is_beat)
        elif is_beat:
            self.cube.speak(len(self.roster.members) + 1)
            self.cube.beat(self.changes.digest, self.settlement.is_complete, self._contacts)

    def _probe_for_other_reign(self) -> None:
        """Tell a remembered peer that does not report to us, in turn, who rules: after a cut, it may follow another."""
        strangers = [c for c in self.ring.remembered.values() if c.id not in self.roster.members]
        if strangers:
            self._step.send(strangers[self._tick % len(strangers)], self.election.announcement())

    def _hand_out_small_ring(self, cluster: ClusterId) -> None:
        small = self.roster.small_ring(self._config.ring.successors)
        if small:
            self.ring.take_small_list(cluster, small)
        elif self.ring.is_small:
            self.ring.outgrow_small()

    def _grant_myself(self, grants: Grants) -> None:
        table = grants.table
        if table is None:
            return
        if table.version != self.tenure.version and self.interests.adopt(table):
            self.tenure.adopt(table)
        if table.version == self.tenure.version:
            self.tenure.renew(self._step.now, dict(grants.vector))

    def _fill(self) -> None:
        """Get the change set from neighbours; if there is nobody to get it from, go on with what we have."""
        self._incomplete_ticks += 1
        if self._incomplete_ticks > _FILL_PATIENCE_TICKS and self.cube.entry is not None:
            self.complete()

    def complete(self) -> None:
        """We hold every change that others held: from now on we grant, number and vote."""
        self.settlement.is_complete = True

    def _seek_place(self, is_beat: bool) -> None:
        """Founders, and clusters whose prefix went to another: get half of somebody's prefix and fill up."""
        if not is_beat:
            return
        giver, granted = self.cube.giver(), self.cube.granted
        assert self.election.cluster is not None
        if granted is None or giver is None:
            self.cube.ask_for_split(self.election.cluster)
        elif not self.changes.contains(granted.vector):
            self.cube.ask_for_split(self.election.cluster)
            self.antientropy.offer(giver)
        else:
            self.complete()
            assert self.grants is not None
            claims = self.grants.vector
            if self.grants.table is not None and all(claims.get(s, 0) >= n for s, n in granted.vector):
                self.cube.report_filled(giver)

    @property
    def is_placed(self) -> bool:
        """Whether our cluster stands in the cube: a filling one acknowledges nothing and numbers nothing."""
        return self.cube.entry is not None and self.settlement.is_complete

    def on_subscribe(self, peer: Contact, asked: Subscribe) -> None:
        if self.election.rules and self.is_placed:
            self.settlement.on_subscribe(peer, asked)

    def on_report(self, peer: Contact, report: Report) -> None:
        """A member reports: note it, and tell it everything it does not have yet."""
        grants = self.grants
        if grants is None or not self.election.rules or report.cluster != grants.cluster:
            known = self.election.super_node if report.cluster == self.election.cluster else None
            self._step.send(peer, NotSuperNode(report.cluster, self.election.epoch, known))
            return
        if report.epoch > self.election.epoch:
            higher = self.ring.remembered.get(report.epoch.node)
            if higher is not None:
                self._follow(report.cluster, report.epoch, higher)
            return
        self.ring.remember(peer)
        if self.roster.report(peer, report):
            self.settlement.end_older(peer, report.incarnation)
            self.settlement.forget(peer.id)
        if report.lacks_index:
            grants.forget_index(peer.id)
        self.settlement.heard(peer.id)
        self._step.send(peer, self._reign(grants, peer, report))

    def _reign(self, grants: Grants, peer: Contact, report: Report) -> Reign:
        is_entitled = self.is_placed and grants.is_entitled(peer.id, report.incarnation)
        table = grants.table if is_entitled else None
        has_table = table is not None and report.table == table.version
        has_vector = grants.digest == report.settled
        knows_directory = report.directory == self.directory.digest
        return Reign(
            cluster=grants.cluster,
            epoch=grants.epoch,
            sent_us=report.sent_us,
            candidates=tuple(self.roster.candidates),
            small_ring=self.roster.small_ring(self._config.ring.successors),
            table=None if has_table else table,
            table_version=None if table is None else table.version,
            settled=None if has_vector else tuple(sorted(grants.vector.items())),
            directory=() if knows_directory else self.directory.entries(),
        )

    def on_directory_say(self, peer: Contact, said: DirectorySay) -> None:
        """News of the cube; if our own cluster has a higher reign elsewhere, follow it."""
        self.cube.on_directory_say(peer, said)
        self._round_trips.answered(peer.id)
        cluster = self.election.cluster
        entry = None if cluster is None else self.directory.get(cluster)
        if entry is not None and cluster is not None and entry.epoch > self.election.epoch:
            self._follow(cluster, entry.epoch, entry.super_node)
