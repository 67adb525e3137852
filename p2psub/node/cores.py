"""All cores of one node, wired together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from p2psub.admission.declarations import Declarations
from p2psub.admission.permits import Permits
from p2psub.admission.policy import Policy
from p2psub.casts.cast import Casts, Payload
from p2psub.config import NodeConfig
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, Contact, NodeId
from p2psub.model.messages.casts import ChangePayload
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
from p2psub.overlay.roster import Roster
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.empty_shards import EmptyShards
from p2psub.owner.match_index import MatchIndex
from p2psub.owner.matchmaker import Matchmaker
from p2psub.owner.owed_events import OwedEvents
from p2psub.owner.parcels import Parcels
from p2psub.owner.topic_owner import TopicOwner
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.trace_sampler import TraceSampler
from p2psub.publisher.advertisements import Advertisements
from p2psub.publisher.outbox import Outbox
from p2psub.queueing.fcfs import FirstComeFirstServed
from p2psub.subscriber.subscriber import Subscriber
from p2psub.super_node.antientropy import AntiEntropy
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.routing import Routing
from p2psub.super_node.settlement import Settlement
from p2psub.super_node.subscriber_leases import SubscriberLeases


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
    roster: Roster
    directory: Directory
    cube: Hypercube
    casts: Casts
    changes: ChangeSet
    arc_lease: ArcLease
    leases: SubscriberLeases
    settlement: Settlement
    antientropy: AntiEntropy
    match_index: MatchIndex
    shards: EmptyShards
    matchmaker: Matchmaker
    owed_events: OwedEvents
    topic_owner: TopicOwner
    routing: Routing
    outbox: Outbox
    declarations: Declarations
    advertisements: Advertisements
    subscriber: Subscriber
    parcels: Parcels
    sampler: TraceSampler
    denials: Denials

    def enter_cluster(self, cluster: ClusterId) -> None:
        """Everything a member holds belongs to one cluster."""
        self.owed_events.cluster = self.matchmaker.cluster = self.shards.cluster = cluster

    def adopt_table(self, table: Table) -> bool:
        """Obey a table of our super-node's, if we hold the index for it.

        Its members are whom we look for later, and the next of them may be a closer successor than the ring told us.
        """
        self.ring.remember(*table.owners)
        self.ring.consider(table.after(self.step.me.id))
        if not self.match_index.adopt(table):
            return False
        self.arc_lease.adopt(table)
        self.shards.forget()
        self.step.write("membership", ("contacts",), tuple(self.known_members()))
        self.step.write("membership", ("table",), table)
        return True

    def known_members(self) -> list[Contact]:
        """Everybody we know of in our cluster, ourselves included."""
        owners = () if self.arc_lease.table is None else self.arc_lease.table.owners
        known = {contact.id: contact for contact in (self.step.me, *owners, *self.ring.remembered.values())}
        return [known[node] for node in sorted(known)]


@dataclass(slots=True)
class _LocalPart:
    """What a cast means here: a change is settled, an event is handed to its subscribers."""

    settlement: Settlement
    routing: Routing

    def take(self, cast: CastId, payload: Payload, part: Prefix) -> None:
        if isinstance(payload, ChangePayload):
            self.settlement.take(cast, payload.change, part)
        else:
            self.routing.take(cast, payload)


def assemble(
    step: Step, config: NodeConfig, policy: Policy, security: SecurityContext, source: Contact | None = None
) -> Cores:
    """Make the cores of a node that has just started; `source` hears of deny lists first."""
    liveness, directory = Liveness(step, config.liveness), Directory()
    ring = Ring(step, config.ring, liveness)
    lookups = Lookups(step, config.ring, ring)
    election, roster = Election(step, config.cluster), Roster(step, config.cluster)
    changes = ChangeSet(config.pubsub.shards)
    arc_lease = ArcLease(step, config.cluster, config.tick_us)
    contact_of = _finder(step, roster, arc_lease, ring)
    cube = Hypercube(step, config.cube, directory, election, liveness, changes.as_vector)
    permits = Permits(step.me.id, security.rights)
    leases = SubscriberLeases(step, config.cluster, changes)
    settlement = Settlement(step, config, changes, roster, directory, permits, leases)
    routing = Routing(step, changes, directory, election, contact_of)
    casts = Casts(step, config.cube, cube, directory, liveness, _LocalPart(settlement, routing))
    settlement.casts = routing.casts = casts
    sampler = TraceSampler(step, config.pubsub.at_most_once_trace_every)
    sealer = Sealer(security.notary)
    topic_owner = TopicOwner(step, config.pubsub, arc_lease, election, permits, sealer, contact_of)
    match_index = MatchIndex(step, config.pubsub, arc_lease, election, policy, topic_owner.replay)
    shards = EmptyShards(step, config.pubsub, arc_lease, match_index)
    topic_owner.matchmaker = Matchmaker(step, config.pubsub, arc_lease, match_index, shards, topic_owner.store)
    holders = config.ring.successors + 1
    topic_owner.owed_events = OwedEvents(
        step, config.pubsub, arc_lease, holders, topic_owner.is_finished, topic_owner.finish, topic_owner.copied
    )
    declarations = Declarations(step, config.pubsub, election)
    advertisements = Advertisements(step, declarations)
    subscriber = Subscriber(step, config.pubsub, election, declarations, sealer, sampler)
    parcels = Parcels(
        step,
        config.pubsub,
        arc_lease,
        permits,
        match_index,
        shards,
        topic_owner,
        subscriber,
        advertisements,
        sealer,
        sampler,
    )
    return Cores(
        step=step,
        config=config,
        egress=Egress(step, config.egress, FirstComeFirstServed),
        permits=permits,
        liveness=liveness,
        ring=ring,
        lookups=lookups,
        election=election,
        cold_start=ColdStart(step),
        roster=roster,
        directory=directory,
        cube=cube,
        casts=casts,
        changes=changes,
        arc_lease=arc_lease,
        leases=leases,
        settlement=settlement,
        antientropy=AntiEntropy(step, config.cube, changes, settlement),
        match_index=match_index,
        shards=shards,
        matchmaker=topic_owner.matchmaker,
        owed_events=topic_owner.owed_events,
        topic_owner=topic_owner,
        routing=routing,
        outbox=Outbox(step, config.pubsub, arc_lease.owner_of, lookups, sealer, advertisements, parcels.publish),
        declarations=declarations,
        advertisements=advertisements,
        subscriber=subscriber,
        parcels=parcels,
        sampler=sampler,
        denials=Denials(step, security.is_signed, security.denials, source),
    )


def _finder(step: Step, roster: Roster, arc_lease: ArcLease, ring: Ring) -> Callable[[NodeId], Contact | None]:
    """Where a member of our cluster can be reached: by its reports, our table, or memory."""

    def contact_of(node: NodeId) -> Contact | None:
        if node == step.me.id:
            return step.me
        member = roster.members.get(node)
        if member is not None:
            return member.contact
        owners = () if arc_lease.table is None else arc_lease.table.owners
        known = next((contact for contact in owners if contact.id == node), None)
        return known or ring.remembered.get(node)

    return contact_of
