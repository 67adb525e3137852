"""One node: `step(inputs, now) -> effects`. Hands every input to the core it concerns; decides nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, cast

from p2psub.admission.policy import AdmitAll, Policy
from p2psub.config import NodeConfig
from p2psub.model.effects import (
    AdvertiseCommand,
    Command,
    ConsumedCommand,
    DenyCommand,
    DiskState,
    Effect,
    FromDisk,
    Input,
    LeaveCommand,
    LinkDrained,
    LinkLost,
    LinkUp,
    MeasuredCommand,
    PacksRead,
    PublishCommand,
    Received,
    SetTimer,
    Stored,
    StoredPacks,
    SubscribeCommand,
    TimerFired,
    UnsubscribeCommand,
    WithdrawCommand,
)
from p2psub.model.ids import ClusterId, Contact
from p2psub.model.instants import Micros
from p2psub.model.messages import Message, casts, cluster, cube, declarations, liveness, pubsub, ring, shards
from p2psub.model.messages.denials import DenyOffer, DenyResponse
from p2psub.model.places import Table
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record
from p2psub.model.status import NodeStatus
from p2psub.model.step import Step
from p2psub.node.cores import assemble
from p2psub.node.link_clocks import LinkClocks
from p2psub.node.message_traits import aged
from p2psub.node.roles import Roles
from p2psub.node.security_context import SecurityContext
from p2psub.overlay.hypercube import DIRECTORY_NAMESPACE
from p2psub.super_node.change_set import CHANGE_NAMESPACE
from p2psub.super_node.term import Term

Disk = Mapping[str, Mapping[tuple[object, ...], object]]
Handler = Callable[[Contact, Any], None]


class NodeCore:
    """A peer without sockets, clocks or files.

    `disk` is what was durable when the last incarnation ended, and `packs` what is known of its log without reading
    it; `contacts` are asked first for the overlay; without any contact the node founds it. The first step, with no
    inputs, starts the node.
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
        security: SecurityContext | None = None,
        packs: StoredPacks | None = None,
    ) -> None:
        self._config = config
        self._tick_us = config.tick_us
        self._disk: Disk | None = disk
        self._packs = packs or StoredPacks()
        self._step = Step(me, incarnation, rng, wall_offset_us, self._packs.last)
        source = contacts[0] if contacts and security is not None else None
        self._cores = assemble(self._step, config, policy or AdmitAll(), security or SecurityContext(), source)
        self._roles = Roles(self._cores, contacts, cluster, score)
        self._link_clocks = LinkClocks()
        self._handlers: dict[type[Message], Handler] = self._make_handlers()

    def _make_handlers(self) -> dict[type[Message], Handler]:
        cores, joiner, membership = self._cores, self._roles.joiner, self._roles.membership
        leadership, owner, publisher = self._roles.leadership, cores.owner, cores.publisher
        return {
            liveness.Ping: cores.liveness.on_ping,
            liveness.Pong: cores.liveness.on_pong,
            liveness.WitnessRequest: cores.liveness.on_witness_request,
            liveness.WitnessResponse: cores.liveness.on_witness_response,
            ring.Stabilise: cores.ring.on_stabilise,
            ring.Neighbourhood: cores.ring.on_neighbourhood,
            ring.Lookup: cores.lookups.on_lookup,
            ring.Found: cores.lookups.on_found,
            cluster.Heartbeat: membership.on_heartbeat,
            cluster.HeartbeatAck: membership.on_heartbeat_ack,
            cluster.NotSuperNode: membership.on_not_super_node,
            cluster.Left: self._roles.leaver.on_left,
            cluster.Vacancy: joiner.on_vacancy,
            cluster.Takeover: membership.on_takeover,
            cluster.ReplicateChanges: membership.on_replicate_changes,
            cluster.ChangesReplicated: self._in_term(lambda term: term.on_changes_replicated),
            cluster.IndexTransfer: owner.match_index.on_index_transfer,
            cluster.IndexStored: leadership.on_index_stored,
            cluster.StoreChange: owner.on_store_change,
            cluster.ChangeStored: self._in_term(lambda term: term.confirmations.on_change_stored),
            cube.CubeHeartbeat: leadership.on_cube_heartbeat,
            cube.DirectoryRequest: cores.cube.on_directory_request,
            cube.DirectoryResponse: joiner.on_directory_response,
            cube.VectorOffer: cores.antientropy.on_vector_offer,
            cube.ChangeBatch: cores.antientropy.on_change_batch,
            cube.WayNews: cores.ways.on_way_news,
            cube.SplitRequest: cores.cube.on_split_request,
            cube.SplitGrant: leadership.on_split_grant,
            cube.SplitRefused: cores.cube.on_split_refused,
            cube.Filled: cores.cube.on_filled,
            casts.ChangeCast: self._in_term(lambda term: term.casts.on_cast, leadership.refuse_cast),
            casts.EventCast: self._in_term(lambda term: term.casts.on_cast, leadership.refuse_cast),
            casts.CustodyRequest: self._in_term(lambda term: term.casts.on_custody_request, leadership.refuse_cast),
            casts.Custody: self._in_term(lambda term: term.casts.on_custody),
            casts.Answer: self._in_term(lambda term: term.casts.on_answer, leadership.note_late_answer),
            casts.CastRefused: self._in_term(lambda term: term.casts.on_cast_refused),
            declarations.Declare: self._in_term(lambda term: term.on_declare),
            declarations.Verdict: self._on_verdict,
            pubsub.Publish: owner.on_publish,
            pubsub.Acknowledge: publisher.on_acknowledge,
            pubsub.NotOwner: publisher.on_not_owner,
            pubsub.StoreCopy: owner.on_store_copy,
            pubsub.CopyStored: owner.on_copy_stored,
            pubsub.CopyRefused: owner.owed_parcels.on_copy_refused,
            pubsub.CopyLost: owner.owed_parcels.on_copy_lost,
            pubsub.Discharged: owner.owed_parcels.on_discharged,
            pubsub.StillOwed: owner.inquiries.on_still_owed,
            pubsub.GiveBackRequest: owner.inquiries.on_give_back_request,
            pubsub.GivenBack: owner.on_given_back,
            shards.MatchRequest: owner.matchmaker.on_match_request,
            shards.MatchResponse: owner.on_match_response,
            pubsub.Route: self._in_term(lambda term: term.routing.on_route),
            pubsub.Routed: owner.on_routed,
            pubsub.Deliver: cores.subscriber.on_deliver,
            pubsub.Delivered: self._on_delivered,
            pubsub.WindowUpdate: owner.on_window_update,
            pubsub.ParcelToOwner: owner.parcels.on_parcel_to_owner,
            shards.ParcelToShard: owner.parcels.on_parcel_to_shard,
            cluster.ShardRequest: owner.shards.on_shard_request,
            cluster.ShardEmpty: owner.shards.on_shard_empty,
            DenyOffer: cores.denials.on_offer,
            DenyResponse: cores.denials.on_deny_response,
        }

    def _in_term(self, handler_of: Callable[[Term], Handler], otherwise: Handler | None = None) -> Handler:
        """A handler of what concerns super-nodes only; any other node takes no notice, unless told what to do."""
        office = self._cores.office

        def handle(peer: Contact, message: Any) -> None:
            if office.term is not None:
                handler_of(office.term)(peer, message)
            elif otherwise is not None:
                otherwise(peer, message)

        return handle

    def _recover(self, disk: Disk) -> None:
        """What the last incarnation made durable is where this one begins."""
        cores, membership = self._cores, disk.get("membership", {})
        if ("cluster",) in membership:
            name, epoch = cast("tuple[ClusterId, Any]", membership["cluster",])
            cores.election.recover(name, epoch)
            # A node that belonged to no cluster begins as a newcomer.
            cores.cube.recover(cast("Any", disk.get(DIRECTORY_NAMESPACE, {})).values())
            cores.cold_start.recover(cast("Table | None", membership.get(("table",))))
        cores.ring.remember(*cast("tuple[Contact, ...]", membership.get(("contacts",), ())))
        cores.changes.recover(cast("Any", disk.get(CHANGE_NAMESPACE, {})).values())
        cores.owner.recover(self._packs.heads)

    # The step

    def record(self, kind: Kind, **fields: Any) -> Record:
        """A record of the driver's own, numbered among the node's."""
        return self._step.make_record(kind, **fields)

    def step(self, inputs: Iterable[Input], now: Micros) -> list[Effect]:
        """Advance the node by one batch of inputs.

        `now` never runs backwards. Perform the effects in order, before the next step. The inputs are iterated over, so
        that the driver can see how far the step came; a compiled walk over a list would not ask it.
        """
        step = self._step
        step.now = now
        if self._disk is not None:
            self._recover(self._disk)
            self._disk, self._packs = None, StoredPacks()
            step.record(Kind.START, heartbeat_us=self._config.heartbeat_us, copies_required=self._config.pubsub.copies)
            step.effects.append(SetTimer(Micros(now + step.rng.randrange(self._tick_us))))
        life = self._roles.life
        for input_ in inputs:
            if life.has_left and not isinstance(input_, LinkUp | LinkDrained | LinkLost | FromDisk):
                # What a node that has left took in would go with it.
                continue
            if isinstance(input_, Received):
                self._hear(input_)
            else:
                self._take(input_)
        self._cores.publisher.flush()
        self._send()
        return step.close()

    def _send(self) -> None:
        """Hear what we say to ourselves, send the rest, and hear what is said in the stead of those who get nothing."""
        step, egress = self._step, self._cores.egress
        while True:
            while step.sends_to_me:
                message = step.sends_to_me.popleft()
                self._handlers[type(message)](step.me, message)
            egress.flush()
            answers = egress.take_answers()
            if not answers:
                return
            for receiver, answer in answers:
                self._handlers[type(answer)](receiver, answer)

    def _hear(self, received: Received) -> None:
        peer, handlers = received.peer, self._handlers
        link_us = self._link_clocks.link_us(received, self._step.now)
        self._step.clock.hear(received.stamp)
        self._cores.liveness.heard(peer.id)
        for message in received.messages:
            handler = handlers.get(type(message))
            if handler is None:
                self._step.record(Kind.DROP, peer=peer.id, reason=Reason.UNEXPECTED_MESSAGE)
            else:
                handler(peer, aged(message, link_us) if link_us else message)

    def _take(self, input_: Input) -> None:
        cores = self._cores
        if isinstance(input_, TimerFired):
            self._tick()
        elif isinstance(input_, FromDisk):
            self._take_from_disk(input_)
        elif isinstance(input_, LinkUp):
            cores.permits.link_up(input_.peer.id, input_.rights)
            cores.egress.link_up(input_)
            self._link_clocks.link_up(input_)
            cores.denials.link_up(input_.peer)
        elif isinstance(input_, LinkDrained):
            cores.egress.link_drained(input_)
        elif isinstance(input_, LinkLost):
            cores.liveness.link_lost(input_.peer)
            cores.ring.link_lost(input_.peer)
            cores.permits.link_lost(input_.peer)
            cores.egress.link_lost(input_.peer)
            self._link_clocks.link_lost(input_.peer)
            cores.ways.link_lost(input_.peer)
            cores.antientropy.link_lost(input_.peer)
            cores.denials.link_lost(input_.peer)
        elif not isinstance(input_, Received):
            self._command(input_)

    def _take_from_disk(self, input_: FromDisk) -> None:
        if isinstance(input_, Stored):
            self._step.keep_promises(input_.number)
        elif isinstance(input_, PacksRead):
            self._step.take_bodies(input_.number, input_.bodies)
        else:
            assert isinstance(input_, DiskState)
            self._step.disk_is_full = input_.is_full

    def _command(self, command: Command) -> None:
        if isinstance(command, PublishCommand):
            self._cores.publisher.publish(command)
        elif isinstance(command, SubscribeCommand):
            self._cores.subscriber.subscribe(command)
        elif isinstance(command, UnsubscribeCommand):
            self._cores.subscriber.unsubscribe(command)
        elif isinstance(command, AdvertiseCommand):
            self._cores.publisher.advertisements.advertise(command)
        elif isinstance(command, WithdrawCommand):
            self._cores.publisher.advertisements.withdraw(command)
        elif isinstance(command, LeaveCommand):
            self._roles.leaver.leave()
        elif isinstance(command, MeasuredCommand):
            self._roles.membership.measured(command.score)
        elif isinstance(command, DenyCommand):
            self._cores.denials.learn(command.denials)
        else:
            assert isinstance(command, ConsumedCommand)
            self._cores.subscriber.consumed(command)

    def _tick(self) -> None:
        """Half a heartbeat: everything periodic rides on it."""
        cores = self._cores
        self._step.tick += 1
        self._step.effects.append(SetTimer(Micros(self._step.now + self._tick_us)))
        cores.egress.tick()
        self._roles.watch()
        cores.lookups.tick()
        self._roles.tick()
        cores.owner.tick()
        cores.publisher.tick()
        cores.declarations.tick()
        cores.subscriber.tick()
        cores.sampler.tick()
        cores.denials.tick()

    def _on_delivered(self, peer: Contact, delivered: pubsub.Delivered) -> None:
        """A subscriber answers the sender of the event: us as super-node, as owner, or as both."""
        if self._cores.office.term is not None:
            self._cores.office.term.routing.on_delivered(peer, delivered)
        self._cores.owner.on_delivered(peer, delivered)

    def _on_verdict(self, peer: Contact, verdict: declarations.Verdict) -> None:
        """News of a declaration of ours: a subscription, or an advertisement."""
        if self._cores.declarations.on_verdict(peer, verdict):
            self._cores.subscriber.judged(verdict)
            self._cores.publisher.advertisements.judged(verdict)

    # Being asked

    @property
    def backlog(self) -> int:
        """Bytes, roughly, that wait for their links."""
        return self._cores.egress.queued_bytes

    @property
    def has_left(self) -> bool:
        """Whether everything was given away, as a `LeaveCommand` asked for."""
        return self._roles.life.has_left

    def status(self) -> NodeStatus:
        """A picture of the node."""
        cores, election, table = self._cores, self._cores.election, self._cores.arc_lease.table
        term, entry = cores.office.term, cores.cube.entry
        owner, publisher = cores.owner.status(), cores.publisher.status()
        promised, at_most_once = cores.owner.settlements.books, cores.subscriber.books
        return NodeStatus(
            id=self._step.me.id,
            incarnation=self._step.incarnation,
            cluster=election.cluster,
            stage=self._roles.life.stage,
            role=self._roles.role,
            epoch=election.epoch,
            super_node=election.super_node,
            candidates=election.candidates if term is None else tuple(term.roster.candidates),
            predecessor=cores.ring.predecessor,
            successors=tuple(cores.ring.successors),
            table=cores.arc_lease.version,
            owners=() if table is None else tuple(owner.id for owner in table.owners),
            serves=cores.arc_lease.is_running,
            prefix=None if entry is None else entry.prefix,
            clusters=tuple((e.cluster, e.prefix) for e in cores.directory.present()),
            filling=term is not None and not term.completeness.is_complete,
            outbox=publisher.outbox,
            undischarged=owner.undischarged,
            kept=owner.kept,
            promised_books=promised.sums(),
            at_most_once_books=at_most_once.sums(),
            subscription_books=(*promised.by_subscription(), *at_most_once.by_subscription()),
            changes_digest=cores.changes.digest,
            active_subscriptions=cores.subscriber.status().subscriptions,
            active_advertisements=publisher.advertisements,
            advertised=tuple(cores.changes.advertised.values()),
            hears_no_member=term is not None and term.roster.hears_no_member,
            queued_messages=cores.egress.queued,
            queued_messages_max=cores.egress.queued_max,
            link_queues=cores.egress.status(),
        )
