"""All cores of one node, wired together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from p2psub.admission.policy import Policy
from p2psub.casts.cast import Casts, Payload
from p2psub.config import NodeConfig
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, Contact, NodeId
from p2psub.model.messages.casts import ChangePayload
from p2psub.model.places import Table
from p2psub.model.step import Step
from p2psub.node.egress import Egress
from p2psub.node.papers import Papers
from p2psub.overlay.denials import Denials
from p2psub.overlay.directory import Directory
from p2psub.overlay.election import Election
from p2psub.overlay.hypercube import Hypercube
from p2psub.overlay.liveness import Liveness
from p2psub.overlay.lookup import Lookups
from p2psub.overlay.regathering import Regathering
from p2psub.overlay.ring import Ring
from p2psub.overlay.roster import Roster
from p2psub.pubsub.advertising import Advertising
from p2psub.pubsub.antientropy import AntiEntropy
from p2psub.pubsub.changes import ChangeSet
from p2psub.pubsub.declaring import Declaring
from p2psub.pubsub.deeds import Deeds
from p2psub.pubsub.delivery import Delivery
from p2psub.pubsub.interests import Interests
from p2psub.pubsub.leases import Leases
from p2psub.pubsub.matchmaking import Matchmaking
from p2psub.pubsub.owning import Owning
from p2psub.pubsub.permits import Permits
from p2psub.pubsub.publishing import Publishing
from p2psub.pubsub.routing import Routing
from p2psub.pubsub.sampling import Sampling
from p2psub.pubsub.sealing import Sealing
from p2psub.pubsub.settlement import Settlement
from p2psub.pubsub.shards import EmptyShards
from p2psub.pubsub.streaming import Streaming
from p2psub.pubsub.tenure import Tenure
from p2psub.queueing.fcfs import FirstComeFirstServed


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
    regathering: Regathering
    roster: Roster
    directory: Directory
    cube: Hypercube
    casts: Casts
    changes: ChangeSet
    tenure: Tenure
    leases: Leases
    settlement: Settlement
    antientropy: AntiEntropy
    interests: Interests
    shards: EmptyShards
    matchmaking: Matchmaking
    deeds: Deeds
    owning: Owning
    routing: Routing
    publishing: Publishing
    declaring: Declaring
    advertising: Advertising
    delivery: Delivery
    streaming: Streaming
    sampling: Sampling
    denials: Denials

    def enter_cluster(self, cluster: ClusterId) -> None:
        """Everything a member holds belongs to one cluster."""
        self.deeds.cluster = self.matchmaking.cluster = self.shards.cluster = cluster

    def adopt_table(self, table: Table) -> bool:
        """Obey a table of our super-node's, if we hold the index for it.

        Its members are whom we look for later, and the next of them may be a closer successor than the ring told us.
        """
        self.ring.remember(*table.owners)
        self.ring.consider(table.after(self.step.me.id))
        if not self.interests.adopt(table):
            return False
        self.tenure.adopt(table)
        self.shards.forget()
        self.step.write("membership", ("contacts",), tuple(self.known_members()))
        self.step.write("membership", ("table",), table)
        return True

    def known_members(self) -> list[Contact]:
        """Everybody we know of in our cluster, ourselves included."""
        owners = () if self.tenure.table is None else self.tenure.table.owners
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


def assemble(step: Step, config: NodeConfig, policy: Policy, papers: Papers, source: Contact | None = None) -> Cores:
    """Make the cores of a node that has just started; `source` hears of deny lists first."""
    liveness, directory = Liveness(step, config.liveness), Directory()
    ring = Ring(step, config.ring, liveness)
    lookups = Lookups(step, config.ring, ring)
    election, roster = Election(step, config.cluster), Roster(step, config.cluster)
    changes = ChangeSet(config.pubsub.shards)
    tenure = Tenure(step, config.cluster, config.tick_us)
    contact_of = _finder(step, roster, tenure, ring)
    cube = Hypercube(step, config.cube, directory, election, liveness, changes.as_vector)
    permits = Permits(step.me.id, papers.rights)
    leases = Leases(step, config.cluster, changes)
    settlement = Settlement(step, config, changes, roster, directory, permits, leases)
    routing = Routing(step, changes, directory, election, contact_of)
    casts = Casts(step, config.cube, cube, directory, liveness, _LocalPart(settlement, routing))
    settlement.casts = routing.casts = casts
    sampling = Sampling(step, config.pubsub.at_most_once_trace_every)
    sealing = Sealing(papers.notary)
    owning = Owning(step, config.pubsub, tenure, election, permits, sealing, contact_of)
    interests = Interests(step, config.pubsub, tenure, election, policy, owning.replay)
    shards = EmptyShards(step, config.pubsub, tenure, interests)
    owning.matchmaking = Matchmaking(step, config.pubsub, tenure, interests, shards, owning.store)
    holders = config.ring.successors + 1
    owning.deeds = Deeds(step, config.pubsub, tenure, holders, owning.is_finished, owning.finish, owning.copied)
    declaring = Declaring(step, config.pubsub, election)
    advertising = Advertising(step, declaring)
    delivery = Delivery(step, config.pubsub, election, declaring, sealing, sampling)
    streaming = Streaming(
        step, config.pubsub, tenure, permits, interests, shards, owning, delivery, advertising, sealing, sampling
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
        regathering=Regathering(step),
        roster=roster,
        directory=directory,
        cube=cube,
        casts=casts,
        changes=changes,
        tenure=tenure,
        leases=leases,
        settlement=settlement,
        antientropy=AntiEntropy(step, config.cube, changes, settlement),
        interests=interests,
        shards=shards,
        matchmaking=owning.matchmaking,
        deeds=owning.deeds,
        owning=owning,
        routing=routing,
        publishing=Publishing(step, config.pubsub, tenure.owner_of, lookups, sealing, advertising, streaming.publish),
        declaring=declaring,
        advertising=advertising,
        delivery=delivery,
        streaming=streaming,
        sampling=sampling,
        denials=Denials(step, papers.is_signed, papers.denials, source),
    )


def _finder(step: Step, roster: Roster, tenure: Tenure, ring: Ring) -> Callable[[NodeId], Contact | None]:
    """Where a member of our cluster can be reached: by its reports, our table, or memory."""

    def contact_of(node: NodeId) -> Contact | None:
        if node == step.me.id:
            return step.me
        member = roster.members.get(node)
        if member is not None:
            return member.contact
        owners = () if tenure.table is None else tenure.table.owners
        known = next((contact for contact in owners if contact.id == node), None)
        return known or ring.remembered.get(node)

    return contact_of
