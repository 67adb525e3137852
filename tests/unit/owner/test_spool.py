"""The spool: never more than its limit for a cluster, the oldest go first, and nobody is unaware."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.content import Timed
from p2psub.model.digests import owed_event_id
from p2psub.model.ids import ClusterId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Obligation, OwedEvent
from p2psub.model.outcomes import Missed
from p2psub.owner.owed_events import HeldEvent
from p2psub.owner.spool import Spool
from tests.unit.bench import at, event_of, node_at, on_topic, subscription_of

OVERHEAD = 256
CLUSTERS = [ClusterId(name) for name in "abc"]


def held(sequence: int, size: int, clusters: list[ClusterId], born_us: int) -> HeldEvent:
    """An undelivered event that is owed to one subscription in each cluster."""
    event = event_of("x", sequence, body=bytes(size))
    subscriptions = [subscription_of(on_topic("x"), n, cluster=c) for n, c in enumerate(CLUSTERS) if c in clusters]
    owed = tuple(Obligation(record.id, record.cluster) for record in subscriptions)
    owed_event = OwedEvent(owed_event_id(event.id, owed), Timed(event, Micros(0)), owed, len(owed), (), at(9))
    return HeldEvent(owed_event, event.key, Micros(born_us))


EVENTS = st.lists(
    st.tuples(st.integers(0, 600), st.lists(st.sampled_from(CLUSTERS), min_size=1, unique=True), st.integers(0, 1_000)),
    max_size=12,
)


def drop(spool: Spool, owed_events: list[HeldEvent]) -> list[tuple[int, ClusterId]]:
    """Let the spool overflow and settle what it drops; sequence and cluster of each."""
    dropped = []
    for owing, id_ in spool.overflow(owed_events):
        dropped.append((owing.owed_event.id.event.sequence, owing.owed.pop(id_).cluster))
    return dropped


@given(EVENTS, st.integers(0, 2_000))
def test_no_cluster_ever_has_more_than_the_limit(events: list[tuple[int, list[ClusterId], int]], most: int) -> None:
    """After an overflow each cluster's share fits, nothing older was kept for it, and nothing more is dropped."""
    owed_events = [held(n, size, clusters, born) for n, (size, clusters, born) in enumerate(events, 1)]
    spool = Spool(node_at(1), 1, most)
    dropped = drop(spool, owed_events)
    for cluster in CLUSTERS:
        kept = [d for d in owed_events if any(o.cluster == cluster for o in d.owed.values())]
        assert sum(OVERHEAD + len(d.owed_event.timed.event.body) for d in kept) <= most
        gone = [d for d in owed_events if (d.owed_event.id.event.sequence, cluster) in dropped]
        assert max((d.born_us for d in gone), default=0) <= min((d.born_us for d in kept), default=1_000)
    assert drop(spool, owed_events) == []


def test_what_fits_is_left_alone() -> None:
    """A limit that holds everything drops nothing, and nobody missed anything."""
    owed_events = [held(n, 100, CLUSTERS[:1], n) for n in range(1, 4)]
    spool = Spool(node_at(1), 1, 3 * (OVERHEAD + 100))
    assert drop(spool, owed_events) == []
    assert spool.missed_by(owed_events[0].owed) == ()


def test_oldest_make_room_and_one_full_cluster_costs_no_other() -> None:
    """The event stays owed to the cluster that has room."""
    owed_events = [held(1, 100, CLUSTERS[:2], 10), held(2, 100, CLUSTERS[:1], 20), held(3, 100, CLUSTERS[:1], 30)]
    assert drop(Spool(node_at(1), 1, 2 * (OVERHEAD + 100)), owed_events) == [(1, CLUSTERS[0])]
    assert [o.cluster for o in owed_events[0].owed.values()] == [CLUSTERS[1]]


def test_every_dropped_event_is_counted_for_its_subscription() -> None:
    """Under this process of the owner, so that the subscriber can tell new losses from repeated news."""
    owed_events = [held(n, 0, CLUSTERS[:1], n) for n in range(1, 6)]
    (id_,) = owed_events[0].owed
    spool = Spool(node_at(1), 3, 2 * OVERHEAD)
    drop(spool, owed_events[:3])
    drop(spool, owed_events[1:])
    other = subscription_of(on_topic("x"), 99).id
    assert spool.missed_by([id_, other]) == (Missed(id_, node_at(1), 3, 3),)
