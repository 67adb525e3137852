"""The spool: never more than its limit for a cluster, what came first goes first, and nobody is unaware."""

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


def held(sequence: int, size: int, clusters: list[ClusterId]) -> HeldParcel:
    """An undelivered event that is owed to one subscription in each cluster."""
    event = event_of("x", sequence, body=bytes(size))
    subscriptions = [subscription_of(on_topic("x"), n, cluster=c) for n, c in enumerate(CLUSTERS) if c in clusters]
    owed = tuple(Obligation(record.id, record.cluster) for record in subscriptions)
    matches, counts = digest_of_matches(o.subscription for o in owed), ((len(owed), b""),)
    owed_parcel = OwedParcel(matches, parcel_of(event), Micros(0), owed, counts, (), at(9))
    return HeldParcel(head_of(owed_parcel, 0), 1, HeldPack(1, 1), Micros(0), 0)


EVENTS = st.lists(
    st.tuples(st.integers(0, 600), st.lists(st.sampled_from(CLUSTERS), min_size=1, unique=True)), max_size=12
)


def spool_of(most: int, *owed_parcels: HeldParcel) -> Spool:
    """A spool of the third process of an owner, to which these came in this order."""
    spool = Spool(node_at(1), 3, most)
    for owing in owed_parcels:
        spool.add(owing)
    return spool


def drop(spool: Spool) -> list[tuple[int, ClusterId]]:
    """Let the spool overflow and settle what it drops, as an owner does; sequence and cluster of each."""
    dropped = []
    for owing, id_, places in spool.overflow():
        cluster = owing.owed[id_][0]
        dropped.append((owing.first.sequence, cluster))
        owing.settle(id_, places)
        spool.settle(owing, cluster)
    return dropped


def kept_for(cluster: ClusterId, owed_parcels: list[HeldParcel]) -> list[HeldParcel]:
    """Those that still owe something to a cluster."""
    return [owing for owing in owed_parcels if any(where == cluster for where, _ in owing.owed.values())]


@given(EVENTS, st.integers(0, 2_000))
def test_no_cluster_ever_has_more_than_the_limit(events: list[tuple[int, list[ClusterId]]], most: int) -> None:
    """After an overflow each cluster's share fits, nothing that came sooner was kept, and nothing more is dropped."""
    owed_parcels = [held(n, size, clusters) for n, (size, clusters) in enumerate(events, 1)]
    spool = spool_of(most, *owed_parcels)
    dropped = drop(spool)
    for cluster in CLUSTERS:
        kept = kept_for(cluster, owed_parcels)
        assert sum(OVERHEAD + d.body_bytes for d in kept) <= most
        gone = [sequence for sequence, where in dropped if where == cluster]
        assert max(gone, default=0) < min((d.first.sequence for d in kept), default=1_000)
        if gone:
            last = owed_parcels[max(gone) - 1]
            assert sum(OVERHEAD + d.body_bytes for d in [*kept, last]) > most, "no more went than had to"
    assert drop(spool) == []


HAPPENINGS = st.lists(
    st.tuples(st.sampled_from(["add", "settle", "release", "overflow"]), st.integers(0, 7), st.sampled_from(CLUSTERS)),
    max_size=30,
)


@given(st.lists(st.tuples(st.integers(0, 600), st.just(CLUSTERS)), min_size=8, max_size=8), HAPPENINGS)
def test_what_is_counted_is_what_is_kept(
    sizes: list[tuple[int, list[ClusterId]]], happenings: list[tuple[str, int, ClusterId]]
) -> None:
    """Whatever comes, ends or is released, and how often it is said: room that was free once is free again."""
    owed_parcels = [held(n, size, clusters) for n, (size, clusters) in enumerate(sizes, 1)]
    spool, counted = Spool(node_at(1), 3, 1_200), dict[int, None]()
    for what, index, cluster in happenings:
        owing = owed_parcels[index]
        if what == "add":
            spool.add(owing)
            counted.pop(index, None) if not owing.owed else counted.setdefault(index)
        elif what == "settle":
            for id_ in [id_ for id_, (where, _) in owing.owed.items() if where == cluster]:
                owing.settle(id_, 1)
            spool.settle(owing, cluster)
        elif what == "release":
            spool.release(owing)
            counted.pop(index, None)
        else:
            drop(spool)
    drop(spool)
    for cluster in CLUSTERS:
        kept = kept_for(cluster, [owed_parcels[index] for index in counted])
        assert sum(OVERHEAD + owing.body_bytes for owing in kept) <= 1_200
    for owing in owed_parcels:
        spool.release(owing)
    fresh = [held(n, 44, CLUSTERS) for n in range(101, 105)]
    for owing in fresh:
        spool.add(owing)
    assert drop(spool) == [], "exactly as much as fits into an empty one"


def test_what_fits_is_left_alone() -> None:
    """A limit that holds everything drops nothing, and nobody missed anything."""
    owed_parcels = [held(n, 100, CLUSTERS[:1]) for n in range(1, 4)]
    spool = spool_of(3 * (OVERHEAD + 100), *owed_parcels)
    assert drop(spool) == []
    assert spool.missed_by(owed_parcels[0].owed) == ()


def test_what_came_first_makes_room_and_one_full_cluster_costs_no_other() -> None:
    """The event stays owed to the cluster that has room."""
    owed_parcels = [held(1, 100, CLUSTERS[:2]), held(2, 100, CLUSTERS[:1]), held(3, 100, CLUSTERS[:1])]
    assert drop(spool_of(2 * (OVERHEAD + 100), *owed_parcels)) == [(1, CLUSTERS[0])]
    assert [where for where, _ in owed_parcels[0].owed.values()] == [CLUSTERS[1]]


def test_every_dropped_event_is_counted_for_its_subscription() -> None:
    """Under this process of the owner, so that the subscriber can tell new losses from repeated news."""
    owed_parcels = [held(n, 0, CLUSTERS[:1]) for n in range(1, 6)]
    (id_,) = owed_parcels[0].owed
    spool = spool_of(2 * OVERHEAD, *owed_parcels[:3])
    drop(spool)
    for owing in owed_parcels[3:]:
        spool.add(owing)
    drop(spool)
    other = subscription_of(on_topic("x"), 99).id
    assert spool.missed_by([id_, other]) == (Missed(id_, node_at(1), 3, 3),)


def test_every_event_of_a_parcel_counts_and_is_told() -> None:
    """A share is what its events take, and a parcel that has to go is missed event by event."""
    events = [event_of("x", n, body=bytes(100)) for n in range(1, 5)]
    record = subscription_of(on_topic("x"), cluster=CLUSTERS[0])
    owed = (Obligation(record.id, record.cluster, bits(0, 1, 3)),)
    owed_parcel = OwedParcel(b"", parcel_of(*events), Micros(0), owed, ((1, bits(0, 1, 3)),), (), at(9))
    held_parcel = HeldParcel(head_of(owed_parcel, 0), 0b1111, HeldPack(1, 0b1111), Micros(0), 0)
    spool = spool_of(3 * (OVERHEAD + 100), held_parcel)
    assert spool.overflow() == []
    spool.release(held_parcel)
    spool = spool_of(3 * (OVERHEAD + 100) - 1, held_parcel)
    assert spool.overflow() == [(held_parcel, record.id, 0b1011)]
    assert spool.missed_by([record.id]) == (Missed(record.id, node_at(1), 3, 3),)


def test_share_is_free_when_the_last_subscription_of_the_cluster_has_its_outcome() -> None:
    """Not sooner: as long as one of them is owed the events, they are kept for it."""
    records = [subscription_of(on_topic("x"), n, cluster=CLUSTERS[0]) for n in (1, 2)]
    owed = tuple(Obligation(record.id, record.cluster) for record in records)
    owed_parcel = OwedParcel(b"", parcel_of(event_of("x")), Micros(0), owed, ((2, b""),), (), at(9))
    both, next_one = HeldParcel(head_of(owed_parcel, 0), 1, HeldPack(1, 1), Micros(0), 0), held(2, 0, CLUSTERS[:1])
    for ended, dropped in ((1, [(1, CLUSTERS[0])]), (2, [])):
        for record in records[:ended]:
            both.settle(record.id, 1)
        spool = spool_of(OVERHEAD, both, next_one)
        spool.settle(both, CLUSTERS[0])
        assert drop(spool) == dropped
        spool.release(next_one)
        spool.release(both)
        both = HeldParcel(head_of(owed_parcel, 0), 1, HeldPack(1, 1), Micros(0), 0)
