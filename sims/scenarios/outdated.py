"""Schedules of outdated members: what one knew was true once, a cut kept the news away, and now others rely on it.

Each has two cuts, the second where the first ends: some members change sides. A node that was cut off then leads
members that have heard more than it, while all that could tell it everything are beyond the second cut.
"""

from __future__ import annotations

from random import Random

from p2psub.model.ids import ClusterId
from p2psub.model.instants import SECOND_US
from sims.engine.host import Host
from sims.engine.placement import cluster_named
from sims.engine.world import status_of
from sims.scenarios.stage import Stage

APART_US = 16 * SECOND_US
"""Longer than a lease, and than the time after which a member counts; shorter than the patience of a node alone."""
SWAPPED_US = 14 * SECOND_US
"""Shorter than the time for which an incomplete super-node looks for what it lacks."""

FAILOVER_US = 5 * SECOND_US
"""The others of a small ring have elected by then."""
SETTLED_US = 36 * SECOND_US
"""After two terms, verdicts are judged again from 20 heartbeats on (docs/promises.md): so much, and some verdicts."""


def newcomer_beyond_a_cut(stage: Stage, rng: Random) -> None:
    """Let a peer join each ring while one member is cut off; then that one leads, with another, apart from the rest.

    The other is the super-node, back without its disk, or a member that has met the newcomer.
    """
    for cluster in _clusters(stage):
        stage.world.agenda.after(rng.randrange(SECOND_US, 6 * SECOND_US), _join_unseen, stage, rng, cluster)


def _join_unseen(stage: Stage, rng: Random, cluster: ClusterId) -> None:
    leader, others = _leader_and_others(stage, cluster)
    if leader is None or len(others) < 2:
        return
    cut_off, witness = rng.sample(others, 2)
    newcomer = stage.add_peer(cluster, f"{cluster}/unseen")
    ring = [leader, *others, newcomer]
    _part(stage, [cut_off], ring, APART_US)
    stage.world.agenda.after(SECOND_US, stage.start, newcomer)
    is_wiped = "wipe" in stage.scenario.faults and rng.random() < 0.5
    if is_wiped:
        stage.world.agenda.after(APART_US, stage.strike, leader.id, True, SECOND_US // 2)
    side = [cut_off, leader if is_wiped else witness]
    stage.world.agenda.after(APART_US, _part, stage, side, ring, SWAPPED_US)


def newcomer_without_its_super_node(stage: Stage, rng: Random) -> None:
    """Cut the super-node of each ring off until a peer has joined the others; then theirs comes to it without its disk.

    The one that was cut off leads on, if no other cluster tells it of the other term.
    """
    for cluster in _clusters(stage):
        stage.world.agenda.after(rng.randrange(SECOND_US, 6 * SECOND_US), _join_the_others, stage, cluster)


def _join_the_others(stage: Stage, cluster: ClusterId) -> None:
    leader, others = _leader_and_others(stage, cluster)
    if leader is None:
        return
    newcomer = stage.add_peer(cluster, f"{cluster}/unmet")
    ring = [leader, *others, newcomer]
    _part(stage, [leader], ring, FAILOVER_US + APART_US)
    stage.world.agenda.after(FAILOVER_US, stage.start, newcomer)
    stage.world.agenda.after(FAILOVER_US + APART_US, _go_over, stage, leader, ring)


def _go_over(stage: Stage, leader: Host, ring: list[Host]) -> None:
    assert leader.cluster is not None
    other = stage.saboteur.super_node(leader.cluster)
    if other is not None and other is not leader:
        stage.strike(other.id, "wipe" in stage.scenario.faults, SECOND_US // 2)
        _part(stage, [leader, other], ring, SWAPPED_US)


def candidate_behind(stage: Stage, rng: Random) -> None:
    """Cut a candidate off from its ring; then it is heard by members that do not hear their super-node any more.

    None of these is a candidate by now: what was called stable meanwhile they do not hold.
    """
    for cluster in _clusters(stage):
        stage.world.agenda.after(rng.randrange(SECOND_US, 6 * SECOND_US), _cut_off_candidate, stage, rng, cluster)


def _cut_off_candidate(stage: Stage, rng: Random, cluster: ClusterId) -> None:
    leader, others = _leader_and_others(stage, cluster)
    candidates = _candidates(leader, others)
    if leader is not None and candidates:
        behind = rng.choice(candidates)
        _part(stage, [behind], [leader, *others], APART_US)
        stage.world.agenda.after(APART_US, _swap, stage, behind)


def former_super_node_behind(stage: Stage, rng: Random) -> None:
    """Cut a super-node off until another leads; much later a member that knows no better asks it for what it held.

    Unless it is a candidate of the other, it does not hold what that one called stable meanwhile.
    """
    for cluster in _clusters(stage):
        stage.world.agenda.after(rng.randrange(SECOND_US, 6 * SECOND_US), _depose, stage, cluster)


def _depose(stage: Stage, cluster: ClusterId) -> None:
    leader, others = _leader_and_others(stage, cluster)
    if leader is not None:
        _part(stage, [leader], [leader, *others], SWAPPED_US // 2)
        stage.world.agenda.after(SWAPPED_US // 2 + SETTLED_US, _swap, stage, leader)


def _swap(stage: Stage, behind: Host) -> None:
    """Cut the super-node and its candidates off from one that is behind and the other members."""
    assert behind.cluster is not None
    leader, others = _leader_and_others(stage, behind.cluster)
    informed = [host for host in [leader, *_candidates(leader, others)] if host is not None and host is not behind]
    _part(stage, informed, [behind, *informed, *others], SWAPPED_US)


def _clusters(stage: Stage) -> list[ClusterId]:
    return [cluster_named(number) for number in range(stage.scenario.clusters)]


def _leader_and_others(stage: Stage, cluster: ClusterId) -> tuple[Host | None, list[Host]]:
    leader = stage.saboteur.super_node(cluster)
    return leader, [host for host in stage.saboteur.peers(cluster) if host is not leader]


def _candidates(leader: Host | None, others: list[Host]) -> list[Host]:
    said = None if leader is None else status_of(leader)
    named = set() if said is None else {candidate.id for candidate in said.candidates}
    return [host for host in others if host.id in named]


def _part(stage: Stage, side: list[Host], ring: list[Host], span_us: int) -> None:
    """Cut some members of a ring off from its others."""
    inside = {host.index for host in side}
    pairs = [(host, other) for host in side for other in ring if other.index not in inside]
    stage.saboteur.cut("outdated", pairs, span_us)
