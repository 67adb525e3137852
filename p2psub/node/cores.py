"""All cores of one node, wired together."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from p2psub.admission.declarations import Declarations
from p2psub.admission.permits import Permits
from p2psub.admission.policy import Policy
from p2psub.casts.entrance import Entrances
from p2psub.casts.ways import Ways
from p2psub.config import NodeConfig
from p2psub.model.ids import Contact, NodeId
from p2psub.model.places import Table
from p2psub.model.step import Step
from p2psub.node.egress import Egress
from p2psub.node.security_context import SecurityContext
from p2psub.overlay.cold_start import ColdStart
from p2psub.overlay.denials import Denials
from p2psub.overlay.directory import Directory
from p2psub.overlay.election import Election
from p2psub.overlay.hypercube import Hypercube
from p2psub.overlay.liveness import Liveness
from p2psub.overlay.lookup import Lookups
from p2psub.overlay.ring import Ring
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.owner import Owner
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.trace_sampler import TraceSampler
from p2psub.publisher.publisher import Publisher
from p2psub.subscriber.subscriber import Subscriber
from p2psub.super_node.antientropy import AntiEntropy
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.subscriber_leases import Lapses
from p2psub.super_node.term import Office


@dataclass(slots=True)
class Cores:
    """One field per core; every one of them writes into the same step."""

    step: Step
    config: NodeConfig
    egress: Egress
    permits: Permits
    liveness: Liveness
    ring: Ring
    lookups: Lookups
    election: Election
    cold_start: ColdStart
    directory: Directory
    cube: Hypercube
    changes: ChangeSet
    arc_lease: ArcLease
    office: Office
    antientropy: AntiEntropy
    owner: Owner
    declarations: Declarations
    publisher: Publisher
    subscriber: Subscriber
    ways: Ways
    sampler: TraceSampler
    denials: Denials

    def adopt_table(self, table: Table) -> bool:
        """Obey a table of our super-node's, if we hold the index for it.

        We remember its members to look for them later; the next of them may be a closer successor than the ring told.
        """
        self.ring.remember(*table.owners)
        self.ring.consider(table.after(self.step.me.id))
        if not self.owner.adopt(table):
            return False
        self.step.write("membership", ("contacts",), tuple(self.known_members()))
        self.step.write("membership", ("table",), table)
        return True

    def known_members(self) -> list[Contact]:
        """Every member we know of in our cluster, ourselves included."""
        owners = () if self.arc_lease.table is None else self.arc_lease.table.owners
        known = {contact.id: contact for contact in (self.step.me, *owners, *self.ring.remembered.values())}
        return [known[node] for node in sorted(known)]

    def table_met(self) -> Table | None:
        """The last table that we obeyed, by our disk if need be, while we obey none of the term that we follow."""
        table = self.arc_lease.table
        if table is None:
            return self.cold_start.own_table
        return None if table.version.epoch == self.election.epoch else table


def assemble(
    step: Step, config: NodeConfig, policy: Policy, security: SecurityContext, source: Contact | None = None
) -> Cores:
    """Make the cores of a node that has just started; `source` hears of deny lists first."""
    liveness, directory = Liveness(step, config.liveness), Directory()
    ways = Ways(step, config.cube, directory)
    egress = Egress(step, config.egress, config.tick_us, ways.beyond)
    election, cold_start = Election(step, config.cluster), ColdStart(step)
    ring = Ring(step, config.ring, liveness, election)
    lookups = Lookups(step, config.ring, ring)
    changes = ChangeSet(step, config.pubsub.shards)
    arc_lease = ArcLease(step, config.cluster, config.tick_us)
    cube = Hypercube(step, config.cube, directory, election, liveness, changes.as_vector)
    permits = Permits(step.me.id, security.rights)
    office = Office(
        step,
        config,
        changes,
        Lapses(step, changes),
        directory,
        cube,
        liveness,
        permits,
        policy,
        cold_start,
        _finder(step, arc_lease, ring),
        itertools.count(1),
        Entrances(config.cube, cube, directory, liveness, ways, egress.way_now),
    )
    sampler, sealer = TraceSampler(step, config.pubsub.at_most_once_trace_every), Sealer(security.notary)
    declarations = Declarations(step, config.pubsub, election)
    publisher = Publisher(
        step, config.pubsub, arc_lease.owner_of, lookups, declarations, permits, sealer, sampler, egress.part_bytes
    )
    owner = Owner(
        step,
        config.pubsub,
        config.tick_us,
        arc_lease,
        election,
        config.ring.successors + 1,
        permits,
        policy,
        sealer,
        sampler,
        office.find,
        lambda owner: publisher.awaits(owner, arc_lease.adopted_us),
        egress.part_bytes,
    )
    return Cores(
        step=step,
        config=config,
        egress=egress,
        ways=ways,
        permits=permits,
        liveness=liveness,
        ring=ring,
        lookups=lookups,
        election=election,
        cold_start=cold_start,
        directory=directory,
        cube=cube,
        changes=changes,
        arc_lease=arc_lease,
        office=office,
        antientropy=AntiEntropy(step, config.cube, changes, office),
        owner=owner,
        declarations=declarations,
        publisher=publisher,
        subscriber=Subscriber(step, config.pubsub, declarations, sealer, sampler, may_be_refused=policy.may_refuse),
        sampler=sampler,
        denials=Denials(step, security.is_signed, security.denials, source, ring.remembered.values),
    )


def _finder(step: Step, arc_lease: ArcLease, ring: Ring) -> Callable[[NodeId], Contact | None]:
    """Where a member of our cluster can be reached: by our table, or memory."""

    def contact_of(node: NodeId) -> Contact | None:
        if node == step.me.id:
            return step.me
        owners = () if arc_lease.table is None else arc_lease.table.owners
        known = next((contact for contact in owners if contact.id == node), None)
        return known or ring.remembered.get(node)

    return contact_of
