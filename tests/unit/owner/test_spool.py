"""The spool: never more than its limit for a cluster, the oldest go first, and nobody is unaware."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.digests import digest_of_matches
from p2psub.model.ids import ClusterId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Obligation, OwedParcel
from p2psub.model.outcomes import Missed
from p2psub.owner.held_parcel import HeldPack, HeldParcel, head_of
from p2psub.owner.spool import Spool
from tests.unit.bench import at, bits, event_of, node_at, on_topic, parcel_of, subscription_of

OVERHEAD = 256
CLUSTERS = [ClusterId(name) for name in "abc"]


def held(sequence: int, size: int, clusters: list[ClusterId], born_us: int) -> HeldParcel:
    """An undelivered event that is owed to one subscription in each cluster."""
    event = event_of("x", sequence, body=bytes(size))
    subscriptions = [subscription_of(on_topic("x"), n, cluster=c) for n, c in enumerate(CLUSTERS) if c in clusters]
    owed = tuple(Obligation(record.id, record.cluster) for record in subscriptions)
    matches, counts = digest_of_matches(o.subscription for o in owed), ((len(owed), b""),)
    owed_parcel = OwedParcel(matches, parcel_of(event), Micros(0), owed, counts, (), at(9))
    return HeldParcel(head_of(owed_parcel, 0), 1, HeldPack(1, 1), Micros(born_us), 0)


EVENTS = st.lists(
    st.tuples(st.integers(0, 600), st.lists(st.sampled_from(CLUSTERS), min_size=1, unique=True), st.integers(0, 1_000)),
    max_size=12,
)


def drop(spool: Spool, owed_parcels: list[HeldParcel]) -> list[tuple[int, ClusterId]]:
    """Let the spool overflow and settle what it drops; sequence and cluster of each."""
    dropped = []
    for owing, id_, places in spool.overflow(owed_parcels):
        dropped.append((owing.first.sequence, owing.owed[id_][0]))
        owing.settle(id_, places)
    return dropped


@given(EVENTS, st.integers(0, 2_000))
def test_no_cluster_ever_has_more_than_the_limit(events: list[tuple[int, list[ClusterId], int]], most: int) -> None:
    """After an overflow each cluster's share fits, nothing older was kept for it, and nothing more is dropped."""
    owed_parcels = [held(n, size, clusters, born) for n, (size, clusters, born) in enumerate(events, 1)]
    spool = Spool(node_at(1), 1, most)
    dropped = drop(spool, owed_parcels)
    for cluster in CLUSTERS:
        kept = [d for d in owed_parcels if any(where == cluster for where, _ in d.owed.values())]
        assert sum(OVERHEAD + d.body_bytes for d in kept) <= most
        gone = [d for d in owed_parcels if (d.first.sequence, cluster) in dropped]
        assert max((d.born_us for d in gone), default=0) <= min((d.born_us for d in kept), default=1_000)
    assert drop(spool, owed_parcels) == []


def test_what_fits_is_left_alone() -> None:
    """A limit that holds everything drops nothing, and nobody missed anything."""
    owed_parcels = [held(n, 100, CLUSTERS[:1], n) for n in range(1, 4)]
    spool = Spool(node_at(1), 1, 3 * (OVERHEAD + 100))
    assert drop(spool, owed_parcels) == []
    assert spool.missed_by(owed_parcels[0].owed) == ()


def test_oldest_make_room_and_one_full_cluster_costs_no_other() -> None:
    """The event stays owed to the cluster that has room."""
    owed_parcels = [held(1, 100, CLUSTERS[:2], 10), held(2, 100, CLUSTERS[:1], 20), held(3, 100, CLUSTERS[:1], 30)]
    assert drop(Spool(node_at(1), 1, 2 * (OVERHEAD + 100)), owed_parcels) == [(1, CLUSTERS[0])]
    assert [where for where, _ in owed_parcels[0].owed.values()] == [CLUSTERS[1]]


def test_every_dropped_event_is_counted_for_its_subscription() -> None:
    """Under this process of the owner, so that the subscriber can tell new losses from repeated news."""
    owed_parcels = [held(n, 0, CLUSTERS[:1], n) for n in range(1, 6)]
    (id_,) = owed_parcels[0].owed
    spool = Spool(node_at(1), 3, 2 * OVERHEAD)
    drop(spool, owed_parcels[:3])
    drop(spool, owed_parcels[1:])
    other = subscription_of(on_topic("x"), 99).id
    assert spool.missed_by([id_, other]) == (Missed(id_, node_at(1), 3, 3),)


def test_every_event_of_a_parcel_counts_and_is_told() -> None:
    """A share is what its events take, and a parcel that has to go is missed event by event."""
    events = [event_of("x", n, body=bytes(100)) for n in range(1, 5)]
    record = subscription_of(on_topic("x"), cluster=CLUSTERS[0])
    owed = (Obligation(record.id, record.cluster, bits(0, 1, 3)),)
    owed_parcel = OwedParcel(b"", parcel_of(*events), Micros(0), owed, ((1, bits(0, 1, 3)),), (), at(9))
    held_parcel = HeldParcel(head_of(owed_parcel, 0), 0b1111, HeldPack(1, 0b1111), Micros(0), 0)
    assert Spool(node_at(1), 1, 3 * (OVERHEAD + 100)).overflow([held_parcel]) == []
    spool = Spool(node_at(1), 1, 3 * (OVERHEAD + 100) - 1)
    assert spool.overflow([held_parcel]) == [(held_parcel, record.id, 0b1011)]
    assert spool.missed_by([record.id]) == (Missed(record.id, node_at(1), 1, 3),)
