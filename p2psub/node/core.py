"""One node: `step(inputs, now) -> effects`. Wires the cores together; decides nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, cast

from p2psub.admission.policy import AdmitAll, Policy
from p2psub.casts.cast import Casts, Payload
from p2psub.config import NodeConfig
from p2psub.model.changes import Change
from p2psub.model.effects import (
    Command,
    Effect,
    Input,
    LinkLost,
    LinkReady,
    LinkUp,
    PublishCommand,
    Received,
    SetTimer,
    Stored,
    SubscribeCommand,
    TimerFired,
    TookCommand,
    UnsubscribeCommand,
)
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId, Contact, NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages import Message, casts, cluster, cube, liveness, pubsub, ring
from p2psub.model.records import Kind
from p2psub.model.status import NodeStatus, Role
from p2psub.model.step import Step
from p2psub.node.egress import Egress
from p2psub.node.roles import Roles
from p2psub.overlay.directory import Directory
from p2psub.overlay.election import Election
from p2psub.overlay.hypercube import Hypercube
from p2psub.overlay.liveness import Liveness
from p2psub.overlay.lookup import Lookups
from p2psub.overlay.ring import Ring
from p2psub.overlay.roster import Roster
from p2psub.pubsub.antientropy import AntiEntropy
from p2psub.pubsub.changes import ChangeSet
from p2psub.pubsub.deeds import Deeds
from p2psub.pubsub.delivery import Delivery
from p2psub.pubsub.interests import Interests
from p2psub.pubsub.matchmaking import Matchmaking
from p2psub.pubsub.owning import Owning
from p2psub.pubsub.publishing import Publishing
from p2psub.pubsub.routing import Routing
from p2psub.pubsub.settlement import CHANGE_ROOM, Settlement
from p2psub.pubsub.tenure import Tenure
from p2psub.queueing.fcfs import FirstComeFirstServed

Disk = Mapping[str, Mapping[tuple[object, ...], object]]
Handler = Callable[[Contact, Any], None]


class NodeCore:
    """A peer without sockets, clocks or files.

    `disk` is what was durable when the last incarnation ended; `contacts` are asked first for the overlay; without any
    contact the node founds it. The first step, with no inputs, starts the node.
    """

    def __init__(
        self,
        me: Contact,
        incarnation: int,
        config: NodeConfig,
        rng: Random,
        disk: Disk,
        contacts: tuple[Contact, ...],
        cluster: ClusterId | None,
        wall_offset_us: int = 0,
        score: float = 1.0,
        policy: Policy | None = None,
    ) -> None:
        self._config = config
        self._step = step = Step(me, incarnation, rng, wall_offset_us)
        self._egress = Egress(step, config.egress, FirstComeFirstServed)
        self._liveness = Liveness(step, config.liveness)
        self._ring = Ring(step, config.ring, self._liveness)
        self._lookups = Lookups(step, config.ring, self._ring)
        self._election = Election(step, config.cluster)
        self._roster = Roster(step, config.cluster)
        self._directory = Directory()
        self._changes = ChangeSet(config.pubsub.shards)
        self._tenure = Tenure(step, config.cluster, config.tick_us)
        self._cube = Hypercube(
            step, config.cube, self._directory, self._election, self._liveness, self._changes.as_vector
        )
        self._settlement = Settlement(step, config, self._changes, self._roster, self._directory)
        self._routing = Routing(step, self._changes, self._directory, self._election, self._contact_of)
        self._casts = Casts(step, config.cube, self._cube, self._directory, self._liveness, self)
        self._settlement.casts = self._routing.casts = self._casts
        self._owning = Owning(step, config.pubsub, self._tenure, self._election, self._contact_of)
        self._interests = Interests(
            step, config.pubsub, self._tenure, policy or AdmitAll(), self._owning.replay
        )
        self._owning.matchmaking = self._matchmaking = Matchmaking(
            step, config.pubsub, self._tenure, self._interests, self._owning.store
        )
        self._owning.deeds = self._deeds = Deeds(
            step,
            config.pubsub,
            self._tenure,
            config.ring.successors + 1,
            self._owning.is_finished,
            self._owning.finish,
            self._owning.copied,
        )
        self._publishing = Publishing(step, config.pubsub, self._lookups)
        self._delivery = Delivery(step, config.pubsub, self._election)
        self._roles = self._make_roles(contacts, cluster, score)
        self._handlers: dict[type[Message], Handler] = self._make_handlers()
        self._disk: Disk | None = disk

    def _make_roles(self, contacts: tuple[Contact, ...], cluster: ClusterId | None, score: float) -> Roles:
        roles = Roles(self._step, self._config, contacts, cluster, score)
        roles.liveness, roles.ring, roles.lookups = self._liveness, self._ring, self._lookups
        roles.election, roles.roster, roles.directory = self._election, self._roster, self._directory
        roles.cube, roles.casts, roles.changes = self._cube, self._casts, self._changes
        roles.tenure, roles.interests, roles.settlement = self._tenure, self._interests, self._settlement
        roles.antientropy = AntiEntropy(
            self._step, self._config.cube, self._changes, self._settlement, roles.complete
        )
        roles.cluster_changed = self._enter_cluster
        return roles

    def _make_handlers(self) -> dict[type[Message], Handler]:
        roles, anti = self._roles, self._roles.antientropy
        return {
            liveness.Ping: self._liveness.on_ping,
            liveness.Pong: self._liveness.on_pong,
            liveness.WitnessAsk: self._liveness.on_witness_ask,
            liveness.WitnessSay: self._liveness.on_witness_say,
            ring.Stabilise: self._ring.on_stabilise,
            ring.Neighbourhood: self._ring.on_neighbourhood,
            ring.Lookup: self._lookups.on_lookup,
            ring.Found: self._lookups.on_found,
            cluster.Report: roles.on_report,
            cluster.Reign: roles.on_reign,
            cluster.NotSuperNode: roles.on_not_super_node,
            cluster.Takeover: roles.on_takeover,
            cluster.StreamState: roles.on_stream_state,
            cluster.StreamHeld: self._settlement.on_stream_held,
            cluster.IndexTransfer: self._interests.on_index_transfer,
            cluster.IndexHeld: self._on_index_held,
            cluster.StoreInterest: self._interests.on_store_interest,
            cluster.InterestStored: self._settlement.on_interest_stored,
            cube.CubeReport: self._on_cube_report,
            cube.DirectoryAsk: self._cube.on_directory_ask,
            cube.DirectorySay: roles.on_directory_say,
            cube.VectorOffer: anti.on_vector_offer,
            cube.ChangeBatch: anti.on_change_batch,
            cube.SplitAsk: self._cube.on_split_ask,
            cube.SplitGrant: self._cube.on_split_grant,
            cube.SplitRefused: self._cube.on_split_refused,
            cube.Filled: self._cube.on_filled,
            casts.ChangeCast: self._casts.on_cast,
            casts.EventCast: self._casts.on_cast,
            casts.Custody: self._casts.on_custody,
            casts.Answer: self._casts.on_answer,
            casts.CastRefused: self._casts.on_cast_refused,
            pubsub.Subscribe: roles.on_subscribe,
            pubsub.Verdict: self._delivery.on_verdict,
            pubsub.Publish: self._owning.on_publish,
            pubsub.Acknowledge: self._publishing.on_acknowledge,
            pubsub.NotOwner: self._publishing.on_not_owner,
            pubsub.Keep: self._deeds.on_keep,
            pubsub.Kept: self._deeds.on_kept,
            pubsub.Discharged: self._deeds.on_discharged,
            pubsub.MatchAsk: self._matchmaking.on_match_ask,
            pubsub.MatchSay: self._matchmaking.on_match_say,
            pubsub.Route: self._routing.on_route,
            pubsub.Routed: self._owning.on_routed,
            pubsub.Deliver: self._delivery.on_deliver,
            pubsub.Delivered: self._on_delivered,
        }

    def _recover(self, disk: Disk) -> None:
        membership = disk.get("membership", {})
        if ("cluster",) in membership:
            name, epoch = cast("tuple[ClusterId, Any]", membership["cluster",])
            self._election.recover(name, epoch)
            self._enter_cluster(name)
            self._ring.cluster = name
        self._ring.remember(*cast("tuple[Contact, ...]", membership.get(("contacts",), ())))
        for change in disk.get(CHANGE_ROOM, {}).values():
            self._changes.add(cast("Change", change))
        self._deeds.recover(cast("Any", disk.get("deed", {})).values())

    def _enter_cluster(self, name: ClusterId) -> None:
        self._deeds.cluster = self._matchmaking.cluster = name

    # The step

    def step(self, inputs: list[Input], now: Micros) -> list[Effect]:
        """Advance the node by one batch of inputs.

        `now` never runs backwards. Perform the effects in order, before the next step.
        """
        step = self._step
        step.now = now
        if self._disk is not None:
            self._recover(self._disk)
            self._disk = None
            step.record(Kind.START)
            step.effects.append(SetTimer(Micros(now + step.rng.randrange(self._config.tick_us))))
        for input_ in inputs:
            self._take(input_)
        while step.sends_to_me:
            message = step.sends_to_me.popleft()
            self._handlers[type(message)](step.me, message)
        self._egress.flush()
        return step.close()

    def _take(self, input_: Input) -> None:
        if isinstance(input_, Received):
            self._step.clock.hear(input_.stamp)
            peer = input_.peer
            self._liveness.heard(peer.id)
            handlers = self._handlers
            for message in input_.messages:
                handlers[type(message)](peer, message)
        elif isinstance(input_, TimerFired):
            self._tick()
        elif isinstance(input_, Stored):
            self._step.keep_promises(input_.number)
        elif isinstance(input_, LinkUp):
            self._egress.link_up(input_.peer, input_.credit)
        elif isinstance(input_, LinkReady):
            self._egress.link_ready(input_.peer, input_.credit)
        elif isinstance(input_, LinkLost):
            self._liveness.link_lost(input_.peer)
            self._egress.link_lost(input_.peer)
        else:
            self._command(input_)

    def _command(self, command: Command) -> None:
        if isinstance(command, PublishCommand):
            self._publishing.publish(command)
        elif isinstance(command, SubscribeCommand):
            self._delivery.subscribe(command)
        elif isinstance(command, UnsubscribeCommand):
            self._delivery.unsubscribe(command)
        else:
            assert isinstance(command, TookCommand)
            self._delivery.took(command)

    def _tick(self) -> None:
        """Half a heartbeat: everything periodic rides on it."""
        self._step.effects.append(SetTimer(Micros(self._step.now + self._config.tick_us)))
        self._watch()
        self._lookups.tick()
        if self._roles.is_beat_next:
            self._ring.stabilise()
        self._roles.tick()
        self._interests.tick()
        self._matchmaking.tick()
        self._deeds.tick()
        self._owning.tick()
        self._routing.tick()
        self._publishing.tick()
        self._delivery.tick()

    def _watch(self) -> None:
        watched = self._ring.watched()
        witnesses = list(self._ring.successors)
        if self._election.rules:
            watched += self._roster.contacts()
            watched += self._cube.watched()
            witnesses += watched
        elif self._election.super_node is not None:
            watched.append(self._election.super_node)
            witnesses += self._election.candidates
        self._liveness.watch_only(watched)
        for contact, fate in self._liveness.tick(witnesses):
            self._roles.pronounced(contact, fate)

    # Messages that concern two cores

    def _on_index_held(self, peer: Contact, held: cluster.IndexHeld) -> None:
        if self._roles.grants is not None:
            self._roles.grants.on_index_held(peer, held)

    def _on_cube_report(self, peer: Contact, report: cube.CubeReport) -> None:
        self._cube.on_cube_report(peer, report)
        if self._election.rules:
            self._roles.antientropy.on_cube_report(peer, report)

    def _on_delivered(self, peer: Contact, delivered: pubsub.Delivered) -> None:
        self._routing.on_delivered(peer, delivered)
        self._owning.on_delivered(peer, delivered)

    def take(self, cast_id: CastId, payload: Payload, part: Prefix) -> None:
        """Our cluster's part of a cast."""
        if isinstance(payload, casts.ChangePayload):
            self._settlement.take(cast_id, payload.change, part)
        else:
            self._routing.take(cast_id, payload)

    def _contact_of(self, node: NodeId) -> Contact | None:
        """Where a member of our cluster can be reached."""
        if node == self._step.me.id:
            return self._step.me
        member = self._roster.members.get(node)
        if member is not None:
            return member.contact
        table = self._tenure.table
        known = None if table is None else next((c for c in table.owners if c.id == node), None)
        return known or self._ring.remembered.get(node)

    # Being asked

    def status(self) -> NodeStatus:
        """A picture of the node."""
        election, entry = self._election, self._cube.entry
        is_candidate = any(candidate.id == self._step.me.id for candidate in election.candidates)
        role = Role.MEMBER
        if election.rules:
            role = Role.SUPER_NODE
        elif election.super_node is None or not self._ring.is_joined:
            role = Role.JOINING
        elif is_candidate:
            role = Role.CANDIDATE
        table = self._tenure.table
        return NodeStatus(
            id=self._step.me.id,
            incarnation=self._step.incarnation,
            cluster=election.cluster,
            role=role,
            epoch=election.epoch,
            super_node=election.super_node,
            candidates=tuple(self._roster.candidates) if election.rules else election.candidates,
            predecessor=self._ring.predecessor,
            successors=tuple(self._ring.successors),
            table=self._tenure.version,
            owners=() if table is None else tuple(owner.id for owner in table.owners),
            serves=self._tenure.is_running,
            prefix=None if entry is None else entry.prefix,
            clusters=tuple((e.cluster, e.prefix) for e in self._directory.present()),
            filling=election.rules and not self._settlement.is_complete,
            outbox=len(self._publishing),
            undischarged=len(self._deeds.held),
            kept=tuple(dict.fromkeys(deed.event for deed in self._deeds.held)),
            changes_digest=self._changes.digest,
            active_subscriptions=self._delivery.active(),
            queued_messages=self._egress.queued,
            queued_messages_max=self._egress.queued_max,
        )
