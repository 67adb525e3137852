"""A workbench for cores: contacts at chosen places of the circle, a step to drive, and a look at what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import TypeVar

import msgspec

from p2psub.admission.policy import AdmitAll, Policy
from p2psub.config import NodeConfig
from p2psub.matching.matcher import Wanted
from p2psub.model.bids import NO_BID, Bid
from p2psub.model.changes import Change, ChangeNumber, LogId
from p2psub.model.circle import is_in_arc
from p2psub.model.content import (
    TOPIC,
    DeclarationState,
    Event,
    Filter,
    Guarantee,
    Operator,
    Order,
    Predicate,
    Subscription,
    keys_of,
)
from p2psub.model.effects import Effect, Persist
from p2psub.model.ids import (
    ID_BYTES,
    ClusterId,
    Contact,
    Epoch,
    EventId,
    NodeId,
    Place,
    SubscriptionId,
    key_of_shard,
    key_of_topic,
)
from p2psub.model.instants import Micros
from p2psub.model.messages import Message
from p2psub.model.messages.cluster import Heartbeat, IndexTransfer
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import places_at, to_bitmap
from p2psub.model.places import Table, TableVersion
from p2psub.model.records import Kind, Record
from p2psub.model.rights import Rights
from p2psub.model.step import Body, Step
from p2psub.model.transmission import Transmission
from p2psub.node.cores import Cores, assemble
from p2psub.node.security_context import SecurityContext
from p2psub.parcels.sealer import Notary

CLUSTER = ClusterId("c1")
CONFIG = NodeConfig()
TICK_US = CONFIG.tick_us
ANY = Filter()
"""Wants every event; goes to a wildcard shard."""

E = TypeVar("E", bound=msgspec.Struct)
M = TypeVar("M", bound=Message)


# Names


def node_at(place: int) -> NodeId:
    """The node whose first byte is `place`: nodes of one test are told apart, and ordered, by one number."""
    return NodeId(Place(bytes([place]) + bytes(ID_BYTES - 1)))


def at(place: int) -> Contact:
    """The contact of `node_at(place)`."""
    return Contact(node_at(place), f"host{place}:1")


def epoch(counter: int, leader: int, incarnation: int = 1) -> Epoch:
    """A term."""
    return Epoch(counter, node_at(leader), incarnation)


def topic_in(low: int, high: int) -> str:
    """A topic whose key lies in the arc (low, high]."""
    return next(name for name in map(str, range(10_000)) if is_in_arc(node_at(low), key_of_topic(name), node_at(high)))


def on_topic(*topics: str) -> Filter:
    """Wants these topics."""
    return Filter(tuple((Predicate(TOPIC, Operator.EQUAL, topic),) for topic in topics))


def event_of(
    topic: str,
    sequence: int = 1,
    publisher: int = 9,
    *,
    body: bytes = b"",
    retain_us: int = 0,
    guarantee: Guarantee = Guarantee.EFFECTIVELY_ONCE,
    timeout_us: int = 0,
) -> Event:
    """An event of the first incarnation of a publisher."""
    return Event(EventId(node_at(publisher), 1, sequence), topic, {}, body, retain_us, guarantee, timeout_us)


def parcel_of(*events: Event, number: int | None = None) -> Parcel:
    """All events of a parcel, unsigned; it is numbered as its first event unless a test says otherwise."""
    return Parcel(events[0].id.sequence if number is None else number, len(events), events)


def bits(*places: int) -> bytes:
    """These places of a parcel, as they travel; none of them: all."""
    return to_bitmap(places_at(list(places))) if places else b""


def subscription_of(
    wanted: Filter,
    sequence: int = 1,
    subscriber: int = 8,
    *,
    version: int = 1,
    is_active: bool = True,
    cluster: ClusterId = CLUSTER,
    replay: bool = False,
    incarnation: int = 1,
    order: Order = Order.NONE,
    bid: Bid = NO_BID,
) -> Subscription:
    """A subscription record."""
    state = DeclarationState.ACTIVE if is_active else DeclarationState.ENDED
    id_ = SubscriptionId(node_at(subscriber), incarnation, sequence)
    return Subscription(id_, version, state, cluster, wanted, replay, order, bid)


def change_of(record: Subscription, n: int, term: Epoch | None = None, cluster: ClusterId = CLUSTER) -> Change:
    """The n-th change of a term."""
    return Change(ChangeNumber(LogId(cluster, term or epoch(1, 1)), n), record)


def wildcard_in_shard(shard: int, subscriber: int = 8) -> Subscription:
    """A subscription to everything that is stored at the given wildcard shard."""
    records = (subscription_of(ANY, n, subscriber) for n in range(1, 100))
    return next(record for record in records if keys_of(record, CONFIG.pubsub.shards) == (key_of_shard(shard),))


# Steps


class SteppedDisk(Step):
    """A step whose disk answers at once: what was appended is read within the step."""

    __slots__ = ("bodies",)

    def __init__(self, me: Contact, incarnation: int, rng: Random, wall_offset_us: int = 0, last_pack: int = 0) -> None:
        super().__init__(me, incarnation, rng, wall_offset_us, last_pack)
        self.bodies: dict[int, object] = {}
        """By pack; one that is taken out cannot be read any more."""

    def append(self, head: object, body: object) -> int:
        number = super().append(head, body)
        self.bodies[number] = body
        return number

    def read(self, packs: Sequence[int], then: Callable[[list[Body]], None]) -> None:
        then([(number, self.bodies.get(number)) for number in packs])


def step_at(place: int, incarnation: int = 1) -> Step:
    """A step of the node at that place, with its own fixed dice."""
    return SteppedDisk(at(place), incarnation, Random(place))


def sent(step: Step) -> list[tuple[Contact, Message]]:
    """Everything the cores asked to send to others since the last look."""
    taken, step.sends[:] = list(step.sends), []
    step.followed.clear()
    return taken


def hold_up(step: Step) -> list[Transmission]:
    """What is asked to be sent and followed stays in the queues of its links; it is sent all the same for `sent`."""
    several = list(step.followed.values())
    for transmission in several:
        transmission.wait()
    return several


def sent_of(step: Step, kind: type[M]) -> list[tuple[Contact, M]]:
    """The messages of one kind sent to others since the last look; the rest is thrown away."""
    return [(to, message) for to, message in sent(step) if isinstance(message, kind)]


def told_myself(step: Step, kind: type[M]) -> list[M]:
    """The messages of one kind that the node sent to itself since the last look; the rest is thrown away."""
    taken = [message for message in step.sends_to_me if isinstance(message, kind)]
    step.sends_to_me.clear()
    return taken


def effects_of(step: Step, kind: type[E]) -> list[E]:
    """The effects of one kind since the last look; the rest stays."""
    taken: list[E] = [effect for effect in step.effects if isinstance(effect, kind)]
    step.effects[:] = [effect for effect in step.effects if not isinstance(effect, kind)]
    return taken


def records_of(step: Step, *kinds: Kind) -> list[Record]:
    """The trace records of some kinds since the last look; other records are thrown away."""
    return [record for record in effects_of(step, Record) if record.kind in kinds]


def make_durable(step: Step) -> list[Effect]:
    """End the step and let the disk write everything."""
    effects = step.close()
    for effect in effects:
        if isinstance(effect, Persist):
            step.keep_promises(effect.number)
    return effects


def tick(step: Step, ticking: Callable[[], object], count: int = 1) -> None:
    """Let ticks pass at a core, with the time that belongs to them."""
    for _ in range(count):
        step.tick += 1
        step.now = Micros(step.now + TICK_US)
        ticking()


# Members


def table_of(*places: int, n: int = 1, term: Epoch | None = None, seen: int | None = None) -> Table:
    """A table of the members at these places."""
    owners = tuple(at(place) for place in sorted(places))
    return Table(TableVersion(term or epoch(1, 1), n), owners, len(owners) if seen is None else seen)


def place_off_the_shards() -> tuple[Table, str]:
    """A ring in which one member owns both shards, and the other a topic."""
    for low in range(2, 250):
        table = table_of(low, low + 1)
        owners = {table.owner_of(key_of_shard(shard)).id[0] for shard in range(CONFIG.pubsub.shards)}
        if owners == {low}:
            return table, topic_in(low, low + 1)
    raise AssertionError("no such ring")


def cores_at(
    place: int, policy: Policy | None = None, config: NodeConfig = CONFIG, notary: Notary | None = None
) -> Cores:
    """The cores of a node that is in no cluster yet; every other node may do everything."""
    cores = assemble(step_at(place), config, policy or AdmitAll(), SecurityContext(notary=notary))
    for other in range(256):
        cores.permits.link_up(node_at(other), Rights())
    return cores


def give_index(cores: Cores, table: Table, changes: Iterable[Change] = ()) -> None:
    """Hand a member the index of its arc and let it adopt the table, as its super-node would."""
    start = table.arc_start_of(cores.step.me.id)
    assert start is not None
    transfer = IndexTransfer(CLUSTER, table.version, start, 1, 0, 1, tuple(changes))
    cores.owner.match_index.on_index_transfer(at(1), transfer)
    assert cores.adopt_table(table)
    cores.arc_lease.renew(cores.step.now, None)


def member_at(
    place: int,
    table: Table,
    changes: Iterable[Change] = (),
    policy: Policy | None = None,
    config: NodeConfig = CONFIG,
    notary: Notary | None = None,
) -> Cores:
    """A member of the cluster that the node at 1 rules, with a running lease on its arc of a table."""
    cores = cores_at(place, policy, config, notary)
    cores.election.follow(CLUSTER, table.version.epoch, at(1))
    give_index(cores, table, changes)
    forget(cores.step)
    return cores


def matched_by(cores: Cores, event: Event) -> list[SubscriptionId]:
    """The subscriptions under the event's topic that a member's index finds for it."""
    wanted = Wanted()
    cores.owner.match_index.match_many(event.key, [event], [0], wanted)
    return list(wanted)


def forget(step: Step) -> None:
    """Throw away what was sent and done so far: the test begins here."""
    make_durable(step)
    sent(step)
    step.sends_to_me.clear()
    step.effects.clear()


def report_of(
    place: int,
    *,
    term: Epoch | None = None,
    incarnation: int = 1,
    score: float = 1.0,
    in_ring: bool = True,
    table: TableVersion | None = None,
    leaving: bool = False,
) -> tuple[Contact, Heartbeat]:
    """What the member at a place reports on a beat."""
    said = Heartbeat(
        CLUSTER, incarnation, term or epoch(1, 1), score, in_ring, Micros(0), table, False, b"", b"", leaving
    )
    return at(place), said
