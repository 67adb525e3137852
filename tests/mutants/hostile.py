"""Small scenarios, each hostile to a few rules: about a second each, so that hundreds can be tried."""

from __future__ import annotations

from dataclasses import replace

from p2psub.config import ClusterConfig, CubeConfig, NodeConfig, PubSubConfig
from p2psub.model.instants import SECOND_US, Micros
from sims.scenarios.scenario import Scenario
from sims.workloads.load import Load

_LOAD = Load(subscriptions=24, events_per_second=10.0)
_CHURN = Load(subscriptions=24, events_per_second=10.0, churn_per_second=6.0)

TIME_RUNS_OUT = Scenario(
    clusters=2,
    members=5,
    seconds=120.0,
    quiet_seconds=62.0,
    faults=("crash", "loss"),
    schedules=("owner_after_acknowledgement",),
    load=replace(_LOAD, priced_share=1.0, timed_share=0.3, slow_share=0.4),
)
"""Channels are slow, messages are lost and owners fall, while all that is published has little time."""

CLOCKS_RUN_APART = replace(TIME_RUNS_OUT, faults=("drift",), schedules=())
"""Steady clocks run fast or slow, and no process falls: what each link tells of time adds up to all of the error."""

OWNERS_FALL = Scenario(
    clusters=2,
    members=5,
    seconds=120.0,
    quiet_seconds=62.0,
    faults=("crash", "wipe", "loss", "duplicate"),
    schedules=("owner_after_acknowledgement", "owner_and_first_replica"),
    load=_LOAD,
)
"""Owners and first replicas fall right after an acknowledgement, half of them with their disks."""

RINGS_PART = Scenario(
    clusters=2,
    members=6,
    seconds=150.0,
    quiet_seconds=62.0,
    faults=(),
    schedules=("ring_into_halves",),
    load=_LOAD,
)
"""Rings are cut into halves that both elect, and nothing else happens."""

LONE_RING_PARTS = replace(RINGS_PART, clusters=1)
"""The same with one ring, which no other cluster can tell of its other half."""
LONE_RING_ADVERTISES = replace(LONE_RING_PARTS, load=replace(LONE_RING_PARTS.load, advertised_per_second=1.0))
"""What a half calls stable there, no other cluster knows."""


RINGS_PART_AND_FALL = Scenario(
    clusters=2,
    members=6,
    seconds=150.0,
    quiet_seconds=62.0,
    faults=("crash", "wipe", "loss"),
    schedules=("ring_into_halves", "owner_after_acknowledgement"),
    load=_CHURN,
)
"""The same, with members that fall on both sides, and subscriptions that come and go."""

TABLES_MOVE = Scenario(
    clusters=2,
    members=5,
    seconds=130.0,
    quiet_seconds=62.0,
    faults=("crash", "loss"),
    schedules=("join_beside_key", "owner_before_acknowledgement"),
    load=Load(subscriptions=24, events_per_second=20.0, churn_per_second=12.0),
)
"""Arcs move all the time, while many subscriptions come and go."""

MATCH_INDEX_RACE = Scenario(
    clusters=2,
    members=5,
    seconds=130.0,
    quiet_seconds=62.0,
    faults=("crash", "loss", "reorder"),
    schedules=("join_beside_key", "owner_before_acknowledgement"),
    load=Load(subscriptions=30, events_per_second=20.0, churn_per_second=30.0),
)
"""Arcs move while thirty subscriptions a second come or go: some change always meets a table under way."""

TERMS_FALL = Scenario(
    clusters=1,
    members=6,
    seconds=140.0,
    quiet_seconds=62.0,
    faults=("wipe",),
    schedules=("super_node_without_candidates",),
    load=Load(subscriptions=24, events_per_second=10.0, churn_per_second=8.0),
)
"""The one super-node is wiped while its candidates do not hear it, and nobody else could bring back what it had."""

OWNERS_OUT_OF_SIGHT = Scenario(
    clusters=2,
    members=7,
    seconds=160.0,
    quiet_seconds=62.0,
    faults=(),
    schedules=("super_node_out_of_sight",),
    load=Load(subscriptions=24, events_per_second=10.0, churn_per_second=3.0),
)
"""Owners that do not hear their super-node, though everybody else hears both."""

DEBTS_LAST = Scenario(
    clusters=2,
    members=5,
    seconds=120.0,
    quiet_seconds=62.0,
    faults=("wipe",),
    schedules=("wipes_while_clusters_are_apart",),
    load=Load(subscriptions=24, events_per_second=10.0, churn_per_second=0.2),
)
"""Events stay owed to a cluster that is cut off, while the members that hold them are wiped one after the other."""

LIGHTS_OUT = Scenario(
    clusters=2,
    members=5,
    seconds=130.0,
    quiet_seconds=62.0,
    faults=("loss",),
    schedules=("black_out",),
    load=Load(subscriptions=24, events_per_second=10.0, slow_share=0.6),
)
"""A whole cluster is down at once, and comes back with its disks."""

LIGHTS_OUT_AMONG_CHANGES = Scenario(
    clusters=2,
    members=6,
    seconds=130.0,
    quiet_seconds=62.0,
    faults=(),
    schedules=("black_out",),
    load=Load(subscriptions=40, events_per_second=20.0, burst_share=0.0, churn_per_second=4.0),
)
"""The same, among subscriptions of the other cluster that only some of those disks know."""

ALL_LIGHTS_OUT = Scenario(
    clusters=3,
    members=4,
    seconds=170.0,
    quiet_seconds=62.0,
    faults=(),
    schedules=("all_down",),
    load=Load(subscriptions=16, events_per_second=10.0, churn_per_second=1.0),
)
"""The whole overlay is down at once, and its bootstrap for good."""

SOME_LIGHTS_OUT_FOR_GOOD = Scenario(
    clusters=2,
    members=6,
    seconds=320.0,
    quiet_seconds=180.0,
    faults=(),
    schedules=("all_down_some_for_good",),
    load=Load(subscriptions=16, events_per_second=5.0, churn_per_second=1.0),
)
"""The same, and no super-node comes back."""

SHARDS_EMPTY = Scenario(
    clusters=1,
    members=5,
    seconds=110.0,
    quiet_seconds=62.0,
    faults=(),
    schedules=(),
    load=Load(subscriptions=4, events_per_second=40.0, churn_per_second=8.0, open_share=0.3),
)
"""Wildcard shards are empty every other second."""

KEYS_MOVE_IN_BURSTS = replace(
    TABLES_MOVE, load=Load(subscriptions=24, events_per_second=40.0, burst_share=1.0, churn_per_second=1.0)
)
"""Arcs move while everything is published in parcels of many topics."""

KEYS_MOVE_IN_ORDER = replace(
    TABLES_MOVE,
    clusters=1,
    members=6,
    load=Load(subscriptions=24, events_per_second=40.0, churn_per_second=0.2, ordered_share=1.0),
)
"""Arcs move while everything is wanted in order. No ring is cut, so that no gap excuses what comes late."""

OWNERS_DIE_IN_ORDER = replace(
    KEYS_MOVE_IN_ORDER,
    seconds=95.0,
    faults=("crash", "wipe", "loss", "reorder", "disk"),
    load=replace(KEYS_MOVE_IN_ORDER.load, slow_share=0.0, events_per_second=60.0, burst_share=1.0),
)
"""Owners die while a request for a copy is lost and the next one arrives, and everything is wanted in order."""

SMALL_RINGS = Scenario(
    clusters=2,
    members=3,
    seconds=110.0,
    quiet_seconds=62.0,
    faults=("crash",),
    schedules=(),
    load=_LOAD,
)
"""Rings too small for a whole successor list."""

SMALL_RINGS_LEAVE = Scenario(
    clusters=2,
    members=3,
    seconds=130.0,
    quiet_seconds=62.0,
    faults=(),
    schedules=("all_but_one_leave",),
    load=Load(subscriptions=24, events_per_second=10.0, slow_share=0.4),
)
"""Two of three members leave at once, and the third falls meanwhile."""
SMALL_RINGS_LEAVE_APART = replace(SMALL_RINGS_LEAVE, clusters=3, faults=("partition",))
"""The same, while what they owe cannot be delivered."""

NEWCOMERS_UNSEEN = Scenario(
    clusters=2,
    members=3,
    seconds=125.0,
    quiet_seconds=62.0,
    faults=("wipe",),
    schedules=("newcomer_beyond_a_cut",),
    load=_LOAD,
)
"""A peer joins each ring while one member is cut off; that one leads afterwards, with one that forgot or met it."""

LONE_RING_GOES_ON_WITHOUT_ITS_SUPER_NODE = replace(
    NEWCOMERS_UNSEEN, clusters=1, seconds=130.0, bootstrap=False, schedules=("newcomer_without_its_super_node",)
)
"""A super-node is cut off, and no other node can tell it that its members lead on and let in another."""

LONE_RING_WITH_ONE_BEHIND = Scenario(
    clusters=1,
    members=7,
    seconds=125.0,
    quiet_seconds=62.0,
    faults=(),
    schedules=("candidate_behind",),
    load=_CHURN,
)
"""A candidate is cut off, and then leads members that do not hold what was called stable without it."""
LONE_RING_ASKS_A_FORMER_SUPER_NODE = replace(
    LONE_RING_WITH_ONE_BEHIND, seconds=150.0, schedules=("former_super_node_behind",)
)
"""The same with a super-node that was deposed: it does not lead, but is asked for what it held."""

CUBE_UNDER_FIRE = Scenario(
    clusters=4,
    members=4,
    seconds=140.0,
    quiet_seconds=62.0,
    faults=("crash", "partition", "loss", "duplicate"),
    schedules=("super_node_of_open_cast", "super_node_in_custody", "super_node_after_number"),
    load=_CHURN,
)
"""Roots and custodians of casts fall, and clusters are cut off from each other."""

VOTES_AGAINST = replace(
    CUBE_UNDER_FIRE, schedules=("super_node_with_a_refusal", "super_node_of_open_cast"), refused_share=0.1
)
"""Owners refuse a third of all subscriptions, and super-nodes fall with refusals that nobody has heard of."""

VOTES_AGAINST_APART = replace(VOTES_AGAINST, faults=("partition",), schedules=(), refused_share=0.3)
"""Most are refused, by several clusters, while others are out of reach."""

CUBE_BY_NEIGHBOURS = replace(CUBE_UNDER_FIRE, node=NodeConfig(cube=CubeConfig(paths="neighbour")))
"""Every half is entered at the neighbour: where it is at targets, an owner's repetition goes straight to those left."""

CLUSTER_COMES_LATE = Scenario(
    clusters=3,
    members=4,
    seconds=110.0,
    quiet_seconds=62.0,
    faults=(),
    schedules=("late_cluster_cut_off",),
    late_cluster=True,
    load=Load(subscriptions=24, events_per_second=20.0, churn_per_second=1.0),
)
"""A third cluster is founded under load, and cut off the moment it has its place."""

APPLICATIONS_COME_AND_GO = Scenario(
    clusters=2,
    members=5,
    seconds=120.0,
    quiet_seconds=62.0,
    faults=("crash", "loss", "duplicate"),
    schedules=("publisher_restarts", "subscriber_restarts"),
    load=Load(subscriptions=24, events_per_second=10.0, churn_per_second=4.0, slow_share=0.4),
)
"""Publishers and subscribers restart, and many channels are slow."""

HOLDERS_RETURN_LATE = Scenario(
    clusters=1,
    members=6,
    seconds=260.0,
    quiet_seconds=62.0,
    faults=(),
    schedules=("holder_returns_late",),
    load=Load(subscriptions=24, events_per_second=10.0, slow_share=0.0),
    node=NodeConfig(
        cluster=ClusterConfig(subscriber_lease_ticks=20),
        pubsub=PubSubConfig(
            undelivered_ttl_us=Micros(60 * SECOND_US), undelivered_ttl_margin_us=Micros(30 * SECOND_US)
        ),
    ),
)
"""Whoever holds an event that was just handed over is down until all others have forgotten it."""

HOLDERS_RETURN_TOO_YOUNG = Scenario(
    clusters=1,
    members=8,
    seconds=190.0,
    quiet_seconds=62.0,
    faults=(),
    schedules=("holder_returns_too_young",),
    load=Load(
        subscriptions=16,
        events_per_second=2.0,
        burst_share=0.0,
        churn_per_second=0.2,
        replay_share=0.0,
        retained_share=0.0,
        slow_share=0.0,
    ),
    node=NodeConfig(
        pubsub=PubSubConfig(
            redeliver_ticks=4,
            undelivered_ttl_us=Micros(60 * SECOND_US),
            undelivered_ttl_margin_us=Micros(16 * SECOND_US),
        ),
    ),
)
"""An event comes back twice after it was given up: as old as it is, and as young as a clock that was set back says."""

PARCELS_ARE_LOST = Scenario(
    clusters=2,
    members=5,
    seconds=120.0,
    quiet_seconds=62.0,
    faults=("loss", "reorder"),
    schedules=(),
    load=Load(subscriptions=24, events_per_second=40.0, churn_per_second=0.2, ordered_share=0.5),
)
"""Messages are lost and overtake each other, and nothing else happens."""

OWNERS_RESTART = replace(
    OWNERS_FALL, faults=("crash", "loss"), load=replace(_LOAD, events_per_second=30.0, churn_per_second=0.2)
)
"""Owners come back with their disks, while their subscribers stay."""

RINGS_PART_IN_ORDER = replace(
    RINGS_PART, load=Load(subscriptions=30, events_per_second=40.0, churn_per_second=0.2, ordered_share=1.0)
)
"""Publishers change sides while everything is wanted in order."""

DISKS_ARE_FULL = Scenario(
    clusters=2,
    members=5,
    seconds=120.0,
    quiet_seconds=62.0,
    faults=("disk",),
    schedules=(),
    load=Load(subscriptions=24, events_per_second=40.0, churn_per_second=0.2),
)
"""Disks take nothing for seconds, one after the other."""

CUBE_IS_SLOW = Scenario(
    clusters=2,
    members=3,
    seconds=130.0,
    quiet_seconds=62.0,
    faults=(),
    schedules=(),
    cube_bandwidths=(16_000,),
    cube_loads=(1.2,),
    load=Load(
        subscriptions=8,
        all_share=1.0,
        body_bytes=20_000,
        burst_share=0.0,
        churn_per_second=0.0,
        replay_share=0.0,
        retained_share=0.0,
        at_most_once_share=0.0,
        slow_share=0.0,
        ordered_share=0.0,
    ),
)
"""The link between two clusters is offered more than it carries, in events of more than a second each."""

RING_IS_SLOW = replace(
    CUBE_IS_SLOW,
    clusters=1,
    members=4,
    bandwidth=16_000,
    cube_bandwidths=(),
    cube_loads=(),
    load=replace(CUBE_IS_SLOW.load, events_per_second=1.3),
)
"""All links of a ring are offered nearly what they carry, in the same events."""

CUBE_IS_SLOW_FOR_DEADLINES = replace(
    CUBE_IS_SLOW, cube_loads=(0.6,), load=replace(CUBE_IS_SLOW.load, priced_share=1.0, timed_share=0.3)
)
"""Most of what passes it would come in time, if only just."""

CUBE_IS_FULL_FOR_DEADLINES = replace(CUBE_IS_SLOW_FOR_DEADLINES, cube_loads=(1.2,))
"""What passes it has waited for nearly all the time that it had."""

CUBE_IS_CROWDED_AND_LOSSY = replace(
    CUBE_IS_SLOW_FOR_DEADLINES, cube_bandwidths=(64_000,), cube_loads=(2.0,), faults=("loss",)
)
"""Answers are lost, so what was taken is asked for again, and then has no hope."""

CUBE_IS_UNEVEN = replace(
    CUBE_IS_SLOW,
    clusters=8,
    members=2,
    seconds=100.0,
    calm_seconds=20.0,
    cube_bandwidths=(64_000,),
    cube_loads=(),
    cube_slow_share=0.25,
    load=replace(
        CUBE_IS_SLOW.load, subscriptions=24, all_share=0.0, body_bytes=4_000, events_per_second=10.0, priced_share=1.0
    ),
)
"""A settled cube, in which a quarter of the links have a quarter of the bandwidth."""
