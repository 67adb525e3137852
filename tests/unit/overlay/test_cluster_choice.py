"""Choosing a cluster: near and needy first, then near with room, else a new one."""

from __future__ import annotations

from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId, NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages.cube import DirectoryRequest
from p2psub.model.places import Entry
from p2psub.overlay.cluster_choice import RoundTrips, choose_cluster
from tests.unit.bench import CONFIG, at, epoch, node_at, sent, step_at

SMALL, FULL = CONFIG.cluster.size_min, CONFIG.cluster.size_target


def choose(*clusters: tuple[str, int, int | None]) -> ClusterId | None:
    """The choice among clusters given as name, members and round trip (None: not measured)."""
    entries = [
        Entry(ClusterId(name), Prefix(""), 1, at(n), epoch(1, n), members)
        for n, (name, members, _) in enumerate(clusters, 1)
    ]
    spans: dict[NodeId, Micros] = {node_at(n): Micros(us) for n, (_, _, us) in enumerate(clusters, 1) if us is not None}
    return choose_cluster(entries, spans, CONFIG.cluster)


def test_smallest_near_cluster_below_the_minimum_is_joined_first() -> None:
    """A cluster that cannot keep its copies needs members more than a nearer one."""
    assert choose(("nearest", 8, 10), ("small", SMALL - 1, 20), ("smaller", 1, 19)) == "smaller"


def test_needy_cluster_that_is_far_away_is_left_alone() -> None:
    """Near is within twice the best round trip."""
    assert choose(("nearest", 8, 10), ("needy", 1, 21)) == "nearest"
    assert choose(("nearest", 8, 10), ("needy", 1, 20)) == "needy"


def test_else_the_nearest_with_room() -> None:
    """A full cluster takes nobody, however near."""
    assert choose(("full", FULL, 5), ("far", SMALL, 90), ("near", FULL - 1, 40)) == "near"


def test_else_a_new_cluster() -> None:
    """All are full, or nobody answered: a cluster that was not measured is not joined blindly."""
    assert choose(("full", FULL, 5), ("fuller", FULL + 9, 6)) is None
    assert choose(("silent", 1, None)) is None
    assert choose() is None


def test_round_trip_is_from_the_last_question_to_its_answer() -> None:
    """Who has answered is asked no more; an answer that nobody asked for measures nothing."""
    step = step_at(1)
    trips = RoundTrips(step)
    assert not trips.beat([at(2), at(3)])
    assert sent(step) == [(at(2), DirectoryRequest()), (at(3), DirectoryRequest())]
    step.now = Micros(300)
    trips.answered(node_at(2))
    trips.answered(node_at(9))
    assert trips.measured_us == {node_at(2): 300}
    step.now = Micros(1_000)
    assert not trips.beat([at(2), at(3)])
    assert sent(step) == [(at(3), DirectoryRequest())]
    step.now = Micros(1_050)
    trips.answered(node_at(3))
    assert trips.measured_us == {node_at(2): 300, node_at(3): 50}
    assert trips.beat([at(2), at(3)])


def test_silent_super_nodes_are_not_waited_for_for_ever() -> None:
    """After some beats the choice is made among those who answered; without any super-node there is no choice."""
    trips = RoundTrips(step_at(1))
    assert [trips.beat([]) for _ in range(9)] == [False] * 9
    assert [trips.beat([at(2)]) for _ in range(9)] == [False] * 8 + [True]
