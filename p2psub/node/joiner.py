"""How a node finds the overlay, and its cluster in it: it asks for the directory, chooses, and joins or founds.

A node that comes back from its disk knows its cluster. If it hears no super-node, it tells the members that were there
when it went down, so that the cluster can begin anew (rule 16 of docs/protocol/election.md).
"""

from __future__ import annotations

from typing import Final

from p2psub.model.ids import ClusterId, Contact
from p2psub.model.messages.cluster import Vacancy
from p2psub.model.messages.cube import DirectoryResponse
from p2psub.node.cores import Cores
from p2psub.node.directory_probe import DirectoryProbe
from p2psub.node.leadership import Leadership
from p2psub.node.membership import Membership
from p2psub.overlay.cluster_choice import RoundTrips, choose_cluster

_FOUNDING_PATIENCE_TICKS: Final = 6
"""A cluster that is unheard of for so many ticks does not exist yet; before, news of it may be on its way."""


class Joiner:
    """What a node does while it follows no super-node."""

    def __init__(
        self,
        cores: Cores,
        membership: Membership,
        leadership: Leadership,
        contacts: tuple[Contact, ...],
        cluster: ClusterId | None,
    ) -> None:
        self._cores = cores
        self._step = cores.step
        self._election = cores.election
        self._membership = membership
        self._leadership = leadership
        self._contacts = contacts
        self._probe = DirectoryProbe(cores, contacts)
        self._unheard_ticks = 0
        self._may_found = False
        self._round_trips = RoundTrips(cores.step)
        self._election.wanted = cluster

    def seek(self) -> None:
        """Ask for the directory; send a heartbeat to our cluster's super-node, or found the cluster."""
        cores, me, election = self._cores, self._step.me.id, self._election
        if election.cluster is None:
            self._probe.ask_near()
        else:
            self._probe.ask_all()
        may_found = self._membership.may_found
        is_first = may_found and (self._may_found or not self._probe.near()) and not cores.directory.entries()
        cluster = election.cluster or election.wanted or self._choose_cluster(is_first)
        if cluster is None:
            return
        election.wanted = cluster
        entry = cores.directory.get(cluster)
        if is_first:
            self._leadership.found_overlay(cluster)
        elif entry is not None and entry.super_node.id != me:
            self._membership.send_heartbeat(entry.super_node, cluster)
        elif entry is None and cores.directory.present() and election.cluster is None:
            self._unheard_ticks += 1
            if self._unheard_ticks > _FOUNDING_PATIENCE_TICKS and may_found:
                self._leadership.found_cluster(cluster)

    def _choose_cluster(self, is_first: bool) -> ClusterId | None:
        """No cluster was named: once the super-nodes' distances are known, choose; None while they are not."""
        present = self._cores.directory.present()
        if not is_first and not self._round_trips.beat([entry.super_node for entry in present]):
            return None
        chosen = choose_cluster(present, self._round_trips.measured_us, self._cores.config.cluster)
        return chosen or ClusterId(self._step.me.id.hex()[:8])

    def on_directory_response(self, peer: Contact, response: DirectoryResponse) -> None:
        """News of the cube; if our own cluster has a higher term elsewhere, follow it."""
        self._cores.cube.on_directory_response(peer, response)
        self._round_trips.answered(peer.id)
        self._may_found = response.may_found and peer in self._contacts
        cluster, directory = self._election.cluster, self._cores.directory
        leads = self._election.is_super_node
        if not response.entries and directory.entries() and cluster is not None and not leads:
            # A bootstrap that has forgotten us would let another node found a second overlay before one of us leads.
            self._step.send(peer, DirectoryResponse(directory.entries()))
        if self._may_found and not directory.entries() and leads and cluster is not None:
            self._cores.cube.found_overlay(cluster)
        entry = None if cluster is None else directory.get(cluster)
        if entry is not None and cluster is not None and entry.epoch > self._election.epoch:
            self._membership.follow(cluster, entry.epoch, entry.super_node)

    def tell_vacancy(self) -> None:
        """Back from our disk, we hear no super-node: tell the members that were there when we went down."""
        cluster, cold_start = self._election.cluster, self._cores.cold_start
        if cluster is not None and cold_start.table is not None and not self._cores.ring.is_joined:
            said = Vacancy(cluster, self._step.incarnation, self._election.epoch, cold_start.table)
            for contact in cold_start.others():
                self._step.send(contact, said)

    def on_vacancy(self, peer: Contact, said: Vacancy) -> None:
        """A member is back: name the super-node, if we lead or hear the one that does; else take note of it."""
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
