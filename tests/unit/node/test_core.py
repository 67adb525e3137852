"""One node: it starts as it ended, does its periodic work, and hands every input to whom it concerns."""

from __future__ import annotations

from random import Random

from p2psub.model.changes import Change
from p2psub.model.content import Draft
from p2psub.model.digests import digest_of_matches
from p2psub.model.effects import (
    Connect,
    ConsumedCommand,
    DiskState,
    Effect,
    Input,
    LeaveCommand,
    LinkUp,
    Notify,
    PacksRead,
    Persist,
    PublishCommand,
    PublishReply,
    ReadPacks,
    Received,
    Reply,
    SetTimer,
    Stored,
    StoredPacks,
    SubscribeCommand,
    TimerFired,
    Transmit,
    Write,
)
from p2psub.model.ids import Contact, NodeId
from p2psub.model.instants import SECOND_US, Micros, Stamp
from p2psub.model.messages.cluster import Takeover
from p2psub.model.messages.cube import DirectoryRequest, DirectoryResponse
from p2psub.model.messages.declarations import Declare
from p2psub.model.messages.hello import Welcome
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.model.messages.pubsub import OwedParcel
from p2psub.model.outcomes import PublishOutcome, SubscribeVerdict, VerdictStatus
from p2psub.model.rates import Demand
from p2psub.model.records import Kind, Record
from p2psub.model.status import LifeStage, Role
from p2psub.model.step import Body
from p2psub.node.core import Disk, NodeCore
from p2psub.owner.held_parcel import head_of
from p2psub.super_node.change_set import CHANGE_NAMESPACE
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    change_of,
    epoch,
    event_of,
    node_at,
    on_topic,
    parcel_of,
    subscription_of,
    table_of,
)

PEER = at(64)


class Machine:
    """A node, its timer and a disk that is as quick as it can be."""

    def __init__(
        self,
        disk: Disk | None = None,
        contacts: tuple[Contact, ...] = (),
        incarnation: int = 1,
        packs: StoredPacks | None = None,
    ) -> None:
        self.core = NodeCore(at(1), incarnation, CONFIG, Random(1), disk or {}, contacts, CLUSTER, packs=packs)
        self.now = 0
        self.timer: int | None = None
        self.disk: dict[str, dict[tuple[object, ...], object]] = {}
        self.bodies: dict[int, object] = {}
        self.effects: list[Effect] = []
        self.step()

    def step(self, *inputs: Input) -> list[Effect]:
        """One step, and those in which the disk answers."""
        made = self.core.step(list(inputs), Micros(self.now))
        self.effects += made
        for effect in made:
            if isinstance(effect, SetTimer):
                self.timer = effect.at
            elif isinstance(effect, Persist):
                self._write(effect.writes)
                self.bodies |= {pack.number: pack.body for pack in effect.packs}
                made = [*made, *self.step(Stored(effect.number))]
            elif isinstance(effect, ReadPacks) and all(pack in self.bodies for pack in effect.packs):
                made = [*made, *self.step(PacksRead(effect.number, [(n, self.bodies[n]) for n in effect.packs]))]
        return made

    def _write(self, writes: list[Write]) -> None:
        for write in writes:
            room = self.disk.setdefault(write.namespace, {})
            if write.value is None:
                room.pop(write.name, None)
            else:
                room[write.name] = write.value

    def run(self, ticks: int) -> None:
        """Let the timer fire."""
        for _ in range(ticks):
            assert self.timer is not None
            self.now = self.timer
            self.step(TimerFired())

    def done(self, kind: type[Effect]) -> list[Effect]:
        """The effects of one kind so far."""
        return [effect for effect in self.effects if isinstance(effect, kind)]


def founder() -> Machine:
    """A node without contacts, some seconds after its start."""
    machine = Machine()
    machine.run(12)
    return machine


def test_node_starts_with_a_record_and_a_timer_within_a_tick() -> None:
    """Spread by its own dice, so that an overlay does not tick in step; then twice a heartbeat."""
    machine = Machine()
    start, timer = machine.effects
    assert isinstance(start, Record)
    assert (start.kind, start.sequence) == (Kind.START, 1)
    assert (start.heartbeat_us, start.copies_required) == (CONFIG.heartbeat_us, CONFIG.pubsub.copies)
    assert isinstance(timer, SetTimer)
    assert 0 <= timer.at < CONFIG.tick_us
    machine.run(1)
    assert machine.timer == machine.now + CONFIG.heartbeat_us // 2


def test_node_without_contacts_founds_the_overlay_and_serves_it() -> None:
    """It owns the whole cube and every key."""
    status = founder().core.status()
    assert (status.role, status.cluster, status.prefix) == (Role.SUPER_NODE, CLUSTER, "")
    assert (status.serves, status.owners, status.filling) == (True, (node_at(1),), False)


def test_node_alone_publishes_to_itself() -> None:
    """Subscribe, publish, hand over: every part of the way is its own, and the copies are stated as they are."""
    machine = founder()
    machine.step(SubscribeCommand(1, on_topic("x")))
    machine.run(4)
    machine.step(PublishCommand(2, [Draft("x", body=b"body")]))
    machine.run(4)
    replies = [effect for effect in machine.effects if isinstance(effect, Reply | PublishReply)]
    notified = [effect for effect in machine.effects if isinstance(effect, Notify)]
    subscription = subscription_of(on_topic("x"), 1, subscriber=1).id
    assert replies == [
        Reply(1, SubscribeVerdict(subscription, VerdictStatus.STABLE, demand=Demand(0, 0, 0, 0))),
        PublishReply([(2, PublishOutcome(notified[0].events[0].id, 1, 1))]),
    ]
    assert [(n.subscription, [event.body for event in n.events]) for n in notified] == [(subscription, [b"body"])]
    assert machine.core.status().undischarged == 0


def test_records_are_numbered_without_gaps_and_their_stamps_rise() -> None:
    """Analysis counts on both."""
    machine = founder()
    records = [effect for effect in machine.effects if isinstance(effect, Record)]
    assert [record.sequence for record in records] == list(range(1, len(records) + 1))
    stamps = [record.stamp for record in records]
    assert stamps == sorted(set(stamps))


def test_restarted_node_has_what_was_durable_and_nothing_else() -> None:
    """Cluster and epoch, changes, owed events; a role and a lease must be earned again."""
    change: Change = change_of(subscription_of(on_topic("x")), 1, epoch(4, 9))
    event = event_of("x")
    owed_parcel = OwedParcel(digest_of_matches(()), parcel_of(event), Micros(0), (), ((0, b""),), (), PEER)
    disk: Disk = {
        "membership": {("cluster",): (CLUSTER, epoch(4, 9)), ("contacts",): (PEER,)},
        CHANGE_NAMESPACE: {change.number: change},
    }
    packs = StoredPacks(1, {1: head_of(owed_parcel, 0)})
    status = Machine(disk, (PEER,), incarnation=2, packs=packs).core.status()
    assert (status.cluster, status.epoch, status.kept) == (CLUSTER, epoch(4, 9), (event.id,))
    assert (status.role, status.super_node, status.serves) == (Role.JOINING, None, False)
    holder = Machine()
    holder.core._cores.changes.add(change)
    assert status.changes_digest == holder.core.status().changes_digest


def test_restarted_founder_rules_above_its_own_last_term() -> None:
    """Two terms of one node must never share an epoch: their changes would share numbers."""
    first = founder()
    again = Machine(first.disk, incarnation=2)
    again.run(200)
    before, after = first.core.status().epoch, again.core.status().epoch
    assert before is not None
    assert after is not None
    assert again.core.status().role is Role.SUPER_NODE
    assert after > before


def test_restarted_cluster_of_one_stands_where_it_stood_at_once() -> None:
    """Its last table names nobody else, so there is nobody to wait for."""
    first = founder()
    again = Machine(first.disk, contacts=(PEER,), incarnation=2)
    again.run(12)
    status = again.core.status()
    assert (status.role, status.prefix, status.serves) == (Role.SUPER_NODE, "", True)


def asked(machine: Machine) -> set[NodeId]:
    """Whom a node asks for the directory within a few beats; its links take everything."""
    machine.effects.clear()
    machine.run(8)
    transmitted = [effect for effect in machine.effects if isinstance(effect, Transmit)]
    return {effect.peer for effect in transmitted if DirectoryRequest() in effect.messages}


def test_super_node_without_a_place_asks_whom_it_remembers_and_founds_by_the_word_of_its_contact() -> None:
    """A disk that knows a cluster and no directory: of two such clusters only one may found the overlay."""
    contact, other = at(200), at(64)
    disk: Disk = {"membership": {("cluster",): (CLUSTER, epoch(4, 9)), ("contacts",): (at(1), other)}}
    machine = Machine(disk, (contact,), incarnation=2)
    machine.step(LinkUp(contact, 1 << 30), LinkUp(other, 1 << 30))
    machine.run(100)
    before = machine.core.status()
    assert (before.role, before.prefix) == (Role.SUPER_NODE, None)
    assert asked(machine) == {contact.id, other.id}
    machine.step(Received(other, [DirectoryResponse((), may_found=True)], Stamp(0, 0)))
    assert machine.core.status().prefix is None, "that is not the bootstrap's to say"
    machine.step(Received(contact, [DirectoryResponse((), may_found=True)], Stamp(0, 0)))
    assert machine.core.status().prefix == ""


def test_peer_that_is_back_tells_a_forgetful_bootstrap_that_there_is_an_overlay() -> None:
    """Else it would let a newcomer found a second one."""
    disk = founder().disk
    machine = Machine({**disk, "membership": {**disk["membership"], ("table",): table_of(1, 64)}}, (PEER,), 2)
    machine.step(LinkUp(PEER, 1 << 20))
    machine.run(2)
    (answer,) = machine.step(Received(PEER, [DirectoryResponse((), may_found=True)], Stamp(0, 0)))
    assert machine.core.status().role is Role.JOINING
    assert isinstance(answer, Transmit)
    (said,) = answer.messages
    assert isinstance(said, DirectoryResponse)
    assert [entry.cluster for entry in said.entries] == [CLUSTER]


def test_message_is_answered_on_its_link_with_a_later_stamp() -> None:
    """The answer happened after what was heard, whatever the clocks say."""
    machine = founder()
    machine.step(LinkUp(PEER, 1 << 20))
    heard = Stamp(machine.now + 3600 * SECOND_US, 5)
    (answer,) = machine.step(Received(PEER, [Ping()], heard))
    assert isinstance(answer, Transmit)
    assert (answer.peer, answer.messages) == (PEER.id, [Pong()])
    assert answer.stamp > heard


def test_unexpected_message_is_dropped_with_a_record() -> None:
    """A peer's fault is no fault of ours: what follows in the same batch is heard."""
    machine = founder()
    machine.step(LinkUp(PEER, 1 << 20))
    dropped, answer = machine.step(Received(PEER, [Welcome(PEER, 1, 1), Ping()], Stamp(0, 0)))
    assert isinstance(dropped, Record)
    assert (dropped.kind, dropped.reason) == (Kind.DROP, "unexpected_message")
    assert isinstance(answer, Transmit)
    assert answer.messages == [Pong()]


def test_joiner_dials_its_contacts_and_founds_nothing_while_they_are_silent() -> None:
    """A second overlay would be worse than none."""
    machine = Machine(contacts=(PEER,))
    machine.run(100)
    assert machine.done(Connect) == [Connect(PEER)]
    assert machine.core.status().role is Role.JOINING
    assert machine.core.status().clusters == ()


def test_same_inputs_make_the_same_effects() -> None:
    """Determinism: no clock, no dice but those handed in."""
    assert founder().effects == founder().effects


def test_deposed_super_node_numbers_nothing() -> None:
    """A request to it goes unanswered; the peer finds the new one."""
    machine = founder()
    higher = Takeover(CLUSTER, epoch(9, 64), PEER)
    machine.step(Received(PEER, [higher], Stamp(0, 0)))
    assert machine.core.status().stage is LifeStage.MEMBER
    made = machine.step(Received(PEER, [Declare(subscription_of(on_topic("x"), subscriber=64))], Stamp(0, 0)))
    assert made == []


def test_last_peer_waits_until_it_owes_nothing() -> None:
    """Nobody is there to take what it acknowledged: it goes when its subscriber has it, and takes nothing after."""
    machine = founder()
    machine.step(SubscribeCommand(1, on_topic("x"), window=0))
    machine.run(4)
    machine.step(PublishCommand(2, [Draft("x")]))
    machine.step(LeaveCommand())
    machine.run(40)
    assert (machine.core.status().stage, machine.core.status().undischarged) == (LifeStage.LEAVING, 1)
    (subscription,) = machine.core.status().active_subscriptions
    machine.step(ConsumedCommand(subscription, 1))
    machine.run(12)
    assert (machine.core.has_left, machine.core.status().undischarged) == (True, 0)
    assert machine.step(Received(PEER, [Ping()], Stamp(0, 0))) == []


# The disk


def test_what_the_disk_says_reaches_whoever_asked() -> None:
    """Bodies go to the core that reads them, and the step shows whether the disk takes anything."""
    owed_parcel = OwedParcel(digest_of_matches(()), parcel_of(event_of("x")), Micros(0), (), ((0, b""),), (), PEER)
    machine = Machine(packs=StoredPacks(6, {6: head_of(owed_parcel, 0)}))
    step, bodies = machine.core._step, list[Body]()
    assert step.append("head", "body") == 7
    step.read([6], bodies.extend)
    assert machine.done(ReadPacks) == []
    machine.step(DiskState(is_full=True))
    assert machine.done(ReadPacks) == [ReadPacks(1, [6])]
    assert step.disk_is_full
    machine.step(PacksRead(1, [(6, "old body")]), DiskState(is_full=False))
    assert bodies == [(6, "old body")]
    assert not step.disk_is_full
