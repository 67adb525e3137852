"""Who is killed, who publishes and who subscribes."""

from __future__ import annotations

from random import Random

import pytest

from p2psub.demo.parts import NotEnoughPeers, PeerStanding, assign_parts
from p2psub.demo.plan import DemoPlan
from p2psub.model.ids import ClusterId
from p2psub.model.status import Role


def overlay(clusters: int, members: int) -> dict[str, PeerStanding]:
    """So many clusters, each with a super-node, a candidate and other members."""
    roles = [Role.SUPER_NODE, Role.CANDIDATE] + [Role.MEMBER] * members
    return {
        f"peer-{number}": PeerStanding(ClusterId(f"cluster-{number % clusters}"), roles[number // clusters])
        for number in range(clusters * members)
    }


@pytest.mark.parametrize("seed", range(20))
def test_nobody_doomed_has_another_part(seed: int) -> None:
    """Publishers and subscribers live to the end; the doomed are of different clusters, and of the right roles."""
    standings = overlay(4, 4)
    parts = assign_parts(standings, DemoPlan(), Random(seed))
    assert not set(parts.doomed) & {*parts.publishers, *parts.subscribers}
    assert len({standings[name].cluster for name in parts.doomed}) == 2
    assert [standings[name].role is Role.SUPER_NODE for name in parts.doomed] == [True, False]
    assert (len(set(parts.publishers)), len(set(parts.subscribers))) == (4, 8)


def test_different_seeds_doom_different_peers() -> None:
    """The choice is drawn."""
    assert len({assign_parts(overlay(4, 4), DemoPlan(), Random(seed)).doomed for seed in range(20)}) > 10


def test_a_cluster_without_a_member_to_kill_is_told() -> None:
    """An overlay of another shape than planned ends the run with advice, not with a wrong choice."""
    standings = {f"peer-{n}": PeerStanding(ClusterId(f"cluster-{n}"), Role.SUPER_NODE) for n in range(16)}
    with pytest.raises(NotEnoughPeers, match="member"):
        assign_parts(standings, DemoPlan(), Random(1))


def test_fewer_clusters_than_deaths_are_told() -> None:
    """No cluster loses two."""
    with pytest.raises(NotEnoughPeers, match="clusters"):
        assign_parts(overlay(1, 16), DemoPlan(), Random(1))
