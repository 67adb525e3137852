"""One node: `step(inputs, now) -> effects`. Hands every input to the core it concerns; decides nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, cast

from p2psub.admission.policy import AdmitAll, Policy
from p2psub.config import NodeConfig
from p2psub.model.changes import Change
from p2psub.model.effects import (
    AdvertiseCommand,
    Command,
    DenyCommand,
    Effect,
    Input,
    LeaveCommand,
    LinkLost,
    LinkReady,
    LinkUp,
    MeasuredCommand,
    PublishCommand,
    Received,
    SetTimer,
    Stored,
    SubscribeCommand,
    TimerFired,
    TookCommand,
    UnsubscribeCommand,
    WithdrawCommand,
)
from p2psub.model.ids import ClusterId, Contact
from p2psub.model.instants import Micros
from p2psub.model.messages import Message, casts, cluster, cube, liveness, pubsub, ring
from p2psub.model.messages.denials import DenyOffer, DenySay
from p2psub.model.places import Table
from p2psub.model.records import Kind, Record
from p2psub.model.status import NodeStatus, Role
from p2psub.model.step import Step
from p2psub.node.cores import assemble
from p2psub.node.papers import Papers
from p2psub.node.roles import Roles
from p2psub.node.ruling import Ruling
from p2psub.overlay.hypercube import DIRECTORY_ROOM
from p2psub.pubsub.deeds import DEED_ROOM
from p2psub.pubsub.settlement import CHANGE_ROOM

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
        papers: Papers | None = None,
    ) -> None:
        self._config = config
        self._disk: Disk | None = disk
        self._step = Step(me, incarnation, rng, wall_offset_us)
        source = contacts[0] if contacts and papers is not None else None
        self._cores = assemble(self._step, config, policy or AdmitAll(), papers or Papers(), source)
        self._ruling = Ruling(self._cores, contacts)
        self._roles = Roles(self._cores, self._ruling, contacts, cluster, score)
        self._handlers: dict[type[Message], Handler] = self._make_handlers()

    def _make_handlers(self) -> dict[type[Message], Handler]:
        cores, roles, ruling = self._cores, self._roles, self._ruling
        return {
            liveness.Ping: cores.liveness.on_ping,
            liveness.Pong: cores.liveness.on_pong,
            liveness.WitnessAsk: cores.liveness.on_witness_ask,
            liveness.WitnessSay: cores.liveness.on_witness_say,
            ring.Stabilise: cores.ring.on_stabilise,
            ring.Neighbourhood: cores.ring.on_neighbourhood,
            ring.Lookup: cores.lookups.on_lookup,
            ring.Found: cores.lookups.on_found,
            cluster.Report: roles.on_report,
            cluster.Reign: roles.on_reign,
            cluster.NotSuperNode: roles.on_not_super_node,
            cluster.Left: roles.on_left,
            cluster.Vacancy: roles.on_vacancy,
            cluster.Takeover: roles.on_takeover,
            cluster.StreamState: roles.on_stream_state,
            cluster.StreamHeld: cores.settlement.on_stream_held,
            cluster.IndexTransfer: cores.interests.on_index_transfer,
            cluster.IndexHeld: ruling.on_index_held,
            cluster.StoreInterest: cores.interests.on_store_interest,
            cluster.InterestStored: cores.settlement.on_interest_stored,
            cube.CubeReport: ruling.on_cube_report,
            cube.DirectoryAsk: cores.cube.on_directory_ask,
            cube.DirectorySay: roles.on_directory_say,
            cube.VectorOffer: cores.antientropy.on_vector_offer,
            cube.ChangeBatch: ruling.on_change_batch,
            cube.SplitAsk: cores.cube.on_split_ask,
            cube.SplitGrant: ruling.on_split_grant,
            cube.SplitRefused: cores.cube.on_split_refused,
            cube.Filled: cores.cube.on_filled,
            casts.ChangeCast: cores.casts.on_cast,
            casts.EventCast: cores.casts.on_cast,
            casts.Custody: cores.casts.on_custody,
            casts.Answer: cores.casts.on_answer,
            casts.CastRefused: cores.casts.on_cast_refused,
            pubsub.Declare: ruling.on_declare,
            pubsub.Verdict: cores.declaring.on_verdict,
            pubsub.Publish: cores.owning.on_publish,
            pubsub.Acknowledge: cores.publishing.on_acknowledge,
            pubsub.NotOwner: cores.publishing.on_not_owner,
            pubsub.Keep: cores.deeds.on_keep,
            pubsub.Kept: cores.deeds.on_kept,
            pubsub.Discharged: cores.deeds.on_discharged,
            pubsub.MatchAsk: cores.matchmaking.on_match_ask,
            pubsub.MatchSay: cores.matchmaking.on_match_say,
            pubsub.Route: cores.routing.on_route,
            pubsub.Routed: cores.owning.on_routed,
            pubsub.Deliver: cores.delivery.on_deliver,
            pubsub.Delivered: self._on_delivered,
            pubsub.Stream: cores.streaming.on_stream,
            pubsub.StreamToShard: cores.streaming.on_stream_to_shard,
            pubsub.StreamDeliver: cores.streaming.on_stream_deliver,
            pubsub.ShardAsk: cores.shards.on_shard_ask,
            pubsub.ShardEmpty: cores.shards.on_shard_empty,
            DenyOffer: cores.denials.on_offer,
            DenySay: cores.denials.on_say,
        }

    def _recover(self, disk: Disk) -> None:
        """What the last incarnation made durable is where this one begins."""
        cores, membership = self._cores, disk.get("membership", {})
        if ("cluster",) in membership:
            name, epoch = cast("tuple[ClusterId, Any]", membership["cluster",])
            cores.election.recover(name, epoch)
            cores.enter_cluster(name)
            cores.ring.cluster = name
            # Whoever belonged to no cluster begins as a newcomer.
            cores.cube.recover(cast("Any", disk.get(DIRECTORY_ROOM, {})).values())
            cores.regathering.table = cast("Table | None", membership.get(("table",)))
        cores.ring.remember(*cast("tuple[Contact, ...]", membership.get(("contacts",), ())))
        for change in disk.get(CHANGE_ROOM, {}).values():
            cores.changes.add(cast("Change", change))
        cores.deeds.recover(cast("Any", disk.get(DEED_ROOM, {})).values())

    # The step

    def record(self, kind: Kind, **fields: Any) -> Record:
        """A record of the driver's own, numbered among the node's."""
        return self._step.make_record(kind, **fields)

    def step(self, inputs: Iterable[Input], now: Micros) -> list[Effect]:
        """Advance the node by one batch of inputs.

        `now` never runs backwards. Perform the effects in order, before the next step. The inputs are iterated over, so
        that whoever hands them in can see how far the step came; a compiled walk over a list would not ask it.
        """
        step = self._step
        step.now = now
        if self._disk is not None:
            self._recover(self._disk)
            self._disk = None
            self._cores.interests.start()
            step.record(Kind.START, count=self._config.heartbeat_us, copies=self._config.pubsub.copies)
            step.effects.append(SetTimer(Micros(now + step.rng.randrange(self._config.tick_us))))
        for input_ in inputs:
            if isinstance(input_, Received):
                self._hear(input_)
            else:
                self._take(input_)
        self._cores.publishing.flush()
        self._cores.streaming.flush()
        while step.sends_to_me:
            message = step.sends_to_me.popleft()
            self._handlers[type(message)](step.me, message)
        self._cores.egress.flush()
        return step.close()

    def _hear(self, received: Received) -> None:
        peer, handlers = received.peer, self._handlers
        self._step.clock.hear(received.stamp)
        self._cores.liveness.heard(peer.id)
        for message in received.messages:
            handler = handlers.get(type(message))
            if handler is None:
                self._step.record(Kind.DROP, peer=peer.id, reason="unexpected_message")
            else:
                handler(peer, message)

    def _take(self, input_: Input) -> None:
        cores = self._cores
        if isinstance(input_, TimerFired):
            self._tick()
        elif isinstance(input_, Stored):
            self._step.keep_promises(input_.number)
        elif isinstance(input_, LinkUp):
            cores.permits.link_up(input_.peer.id, input_.rights)
            cores.egress.link_up(input_.peer, input_.credit)
            cores.denials.link_up(input_.peer)
        elif isinstance(input_, LinkReady):
            cores.egress.link_ready(input_.peer, input_.credit)
        elif isinstance(input_, LinkLost):
            cores.liveness.link_lost(input_.peer)
            cores.permits.link_lost(input_.peer)
            cores.egress.link_lost(input_.peer)
            cores.denials.link_lost(input_.peer)
        elif not isinstance(input_, Received):
            self._command(input_)

    def _command(self, command: Command) -> None:
        if isinstance(command, PublishCommand):
            self._cores.publishing.publish(command)
        elif isinstance(command, SubscribeCommand):
            self._cores.delivery.subscribe(command)
        elif isinstance(command, UnsubscribeCommand):
            self._cores.delivery.unsubscribe(command)
        elif isinstance(command, AdvertiseCommand):
            self._cores.advertising.advertise(command)
        elif isinstance(command, WithdrawCommand):
            self._cores.advertising.withdraw(command)
        elif isinstance(command, LeaveCommand):
            self._roles.leave()
        elif isinstance(command, MeasuredCommand):
            self._roles.measured(command.score)
        elif isinstance(command, DenyCommand):
            self._cores.denials.learn(command.denials)
        else:
            assert isinstance(command, TookCommand)
            self._cores.delivery.took(command)

    def _tick(self) -> None:
        """Half a heartbeat: everything periodic rides on it."""
        cores = self._cores
        self._step.effects.append(SetTimer(Micros(self._step.now + self._config.tick_us)))
        self._watch()
        cores.lookups.tick()
        self._roles.tick()
        cores.interests.tick()
        cores.shards.tick()
        cores.matchmaking.tick()
        cores.deeds.tick()
        cores.owning.tick()
        cores.routing.tick()
        cores.publishing.tick()
        cores.declaring.tick()
        cores.delivery.tick()
        cores.sampling.tick()
        cores.denials.tick()

    def _watch(self) -> None:
        """Watch whose silence matters to our role; act on the verdicts."""
        cores, election = self._cores, self._cores.election
        watched, witnesses = cores.ring.watched(), list(cores.ring.successors)
        if election.rules:
            watched += cores.roster.contacts() + cores.cube.watched()
            witnesses += watched
        elif election.super_node is not None:
            watched.append(election.super_node)
            witnesses += election.candidates
        elif election.is_vacant:
            # Whether we were cut off, all of us or nobody, shows in whom of the cluster we hear.
            watched += cores.known_members()
        cores.liveness.watch_only(watched)
        for contact, fate in cores.liveness.tick(witnesses):
            self._roles.pronounced(contact, fate)

    def _on_delivered(self, peer: Contact, delivered: pubsub.Delivered) -> None:
        """A subscriber answers whoever sent the event: us as super-node, as owner, or as both."""
        self._cores.routing.on_delivered(peer, delivered)
        self._cores.owning.on_delivered(peer, delivered)

    # Being asked

    @property
    def backlog(self) -> int:
        """Bytes, roughly, that wait for their links."""
        return self._cores.egress.queued_bytes

    def _role(self) -> Role:
        election, me = self._cores.election, self._step.me.id
        if election.rules:
            return Role.SUPER_NODE
        if election.super_node is None or not self._cores.ring.is_joined:
            return Role.JOINING
        return Role.CANDIDATE if any(c.id == me for c in election.candidates) else Role.MEMBER

    def status(self) -> NodeStatus:
        """A picture of the node."""
        cores, election, table = self._cores, self._cores.election, self._cores.tenure.table
        entry = cores.cube.entry
        return NodeStatus(
            id=self._step.me.id,
            incarnation=self._step.incarnation,
            cluster=election.cluster,
            role=self._role(),
            epoch=election.epoch,
            super_node=election.super_node,
            candidates=tuple(cores.roster.candidates) if election.rules else election.candidates,
            predecessor=cores.ring.predecessor,
            successors=tuple(cores.ring.successors),
            table=cores.tenure.version,
            owners=() if table is None else tuple(owner.id for owner in table.owners),
            serves=cores.tenure.is_running,
            prefix=None if entry is None else entry.prefix,
            clusters=tuple((e.cluster, e.prefix) for e in cores.directory.present()),
            filling=election.rules and not cores.settlement.is_complete,
            outbox=len(cores.publishing),
            undischarged=len(cores.deeds.held),
            kept=tuple(dict.fromkeys(deed.event for deed in cores.deeds.held)),
            changes_digest=cores.changes.digest,
            active_subscriptions=cores.delivery.active(),
            active_advertisements=cores.advertising.active(),
            advertised=tuple(cores.changes.advertised.values()),
            left=self._roles.has_left,
            hears_nobody=election.rules and cores.roster.hears_nobody,
            queued_messages=cores.egress.queued,
            queued_messages_max=cores.egress.queued_max,
        )
