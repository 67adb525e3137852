"""Members that hold copies of parcels, and what they say of them."""

from __future__ import annotations

from p2psub.model.digests import digest_of_matches
from p2psub.model.effects import Persist
from p2psub.model.ids import ClusterId, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import CopyStored, Obligation, OwedHead, OwedParcel, OwedParcelId, StoreCopy
from p2psub.model.place_sets import to_bitmap
from p2psub.model.places import Table
from p2psub.model.records import Kind
from p2psub.node.cores import Cores
from p2psub.owner.held_parcel import HeldParcel, head_of
from tests.unit.bench import (
    CLUSTER,
    SteppedDisk,
    at,
    event_of,
    give_index,
    make_durable,
    member_at,
    on_topic,
    parcel_of,
    sent,
    subscription_of,
    table_of,
    tick,
    topic_in,
)

TABLE = table_of(32, 64, 96, 128, 160, 192)
TOPIC = topic_in(1, 32)
"""A topic of the member at 32; its other holders are 64, 96 and 128."""
ELSEWHERE = ClusterId("c2")


def owed_parcel_of(sequence: int = 1, owed: int = 2, age_us: int = 0, topic: str = TOPIC) -> OwedParcel:
    """A parcel of one event that is owed to some subscriptions of another cluster."""
    event = event_of(topic, sequence)
    records = [subscription_of(on_topic(topic), n, cluster=ELSEWHERE) for n in range(1, owed + 1)]
    obligations = tuple(Obligation(record.id, ELSEWHERE) for record in records)
    matches, counts = digest_of_matches(record.id for record in records), ((owed, b""),)
    return OwedParcel(matches, parcel_of(event), Micros(age_us), obligations, counts, (), at(9))


def hold(cores: Cores, owed_parcel: OwedParcel, kind: Kind = Kind.STORE) -> HeldParcel:
    """A member takes a parcel of one event."""
    (held,) = cores.owner.hold(owed_parcel, owed_parcel.parcel.places, kind)
    return held


def places_of(owed_parcel: OwedParcel) -> tuple[OwedParcelId, bytes]:
    """All events of it, as members name them to each other."""
    return owed_parcel.id, to_bitmap(owed_parcel.parcel.places)


def heads_of(*owed_parcels: OwedParcel, written_us: int) -> dict[int, OwedHead]:
    """What a process finds of packs that were written then."""
    return {number: head_of(owed_parcel, written_us) for number, owed_parcel in enumerate(owed_parcels, 1)}


def recover(cores: Cores, *owed_parcels: OwedParcel) -> dict[int, object]:
    """A process finds packs that were written just now; their heads."""
    assert isinstance(cores.step, SteppedDisk)
    cores.step.bodies |= {number: owed_parcel.parcel for number, owed_parcel in enumerate(owed_parcels, 1)}
    heads = heads_of(*owed_parcels, written_us=cores.step.wall_us)
    cores.owner.recover(heads)
    return {**heads}


def owed_in(cores: Cores) -> list[OwedParcel]:
    """What a member holds, as it would hand it on; all of it is in memory."""
    pieces = [(held, held.parcel) for held in cores.owner.owed_parcels.log]
    return [held.as_owed(parcel, cores.step.now) for held, parcel in pieces if parcel is not None]


def owed_by(cores: Cores) -> list[SubscriptionId]:
    """To whom a member owes what it holds."""
    return [id_ for held in cores.owner.owed_parcels.log for id_ in held.owed]


def held_by(cores: Cores) -> list[OwedParcelId]:
    """What a member holds."""
    return [held.id for held in cores.owner.owed_parcels.log]


def keep(*owed_parcels: OwedParcel) -> StoreCopy:
    """A request to hold parcels."""
    return StoreCopy(CLUSTER, owed_parcels)


def kept(*owed_parcels: OwedParcel, table: Table = TABLE) -> CopyStored:
    """A durable copy, stated by a member that follows a table."""
    return CopyStored(CLUSTER, tuple(map(places_of, owed_parcels)), table.version)


def holding(place: int, owed_parcel: OwedParcel, table: Table = TABLE, told_by: int = 32) -> Cores:
    """A member that holds a parcel durably."""
    cores = member_at(place, table)
    cores.step.tick += 1
    cores.owner.owed_parcels.tick()
    cores.owner.on_store_copy(at(told_by), keep(owed_parcel))
    make_durable(cores.step)
    sent(cores.step)
    return cores


MOVED = table_of(32, 40, 48, 56, 64, 96, 128, 160, 192, n=2)
"""Three members have joined before 64: it and all after it hold that key no more."""


def former_holder(owed_parcel: OwedParcel) -> Cores:
    """A member that held a parcel for the table before."""
    cores = holding(128, owed_parcel)
    move(cores, MOVED)
    return cores


def move(cores: Cores, table: Table) -> None:
    """A new table comes into force."""
    give_index(cores, table)
    sent(cores.step)


def erased(cores: Cores) -> list[int]:
    """The packs that are erased within a few heartbeats."""
    tick(cores.step, cores.owner.owed_parcels.tick, 8)
    persists = [effect for effect in make_durable(cores.step) if isinstance(effect, Persist)]
    return [number for persist in persists for number in persist.erased_packs]
