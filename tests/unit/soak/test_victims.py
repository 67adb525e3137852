"""Which peer is killed, and for what."""

from __future__ import annotations

from random import Random

from p2psub.model.ids import ID_BYTES, key_of_topic
from p2psub.soak.victims import RingMember, RingView, VictimRole, draw_victim

TOPIC = "tea"
KEY = key_of_topic(TOPIC)


def ring(cluster: str, size: int, super_node: str | None = None) -> RingView:
    """Members whose names count clockwise from the owner of the topic, which is 0."""
    first = int.from_bytes(KEY)
    step = (1 << 8 * ID_BYTES) // size
    places = [(first + number * step) % (1 << 8 * ID_BYTES) for number in range(size)]
    owners = [RingMember(place.to_bytes(ID_BYTES), f"{cluster}-{number}") for number, place in enumerate(places)]
    return RingView(cluster, tuple(owners), super_node)


def drawn(turn: int, rings: list[RingView], killable: set[str]) -> set[tuple[str, VictimRole]]:
    """All that many seeds draw."""
    victims = [draw_victim(turn, rings, killable, (TOPIC,), Random(seed)) for seed in range(50)]
    return {(victim.name, victim.role) for victim in victims if victim is not None}


def names(view: RingView) -> set[str]:
    """All members."""
    return {member.name for member in view.owners}


def test_the_owner_of_a_topic_is_the_first_of_its_holders() -> None:
    """The three after it hold copies."""
    assert ring("a", 6).holders_of(TOPIC) == ["a-0", "a-1", "a-2", "a-3"]
    assert ring("a", 2).holders_of(TOPIC) == ["a-0", "a-1"]


def test_roles_take_turns() -> None:
    """Owner, holder, super-node, and again; one that leads is killed as super-node alone."""
    view = ring("a", 6, super_node="a-2")
    assert drawn(0, [view], names(view)) == {("a-0", VictimRole.OWNER)}
    assert drawn(1, [view], names(view)) == {("a-1", VictimRole.HOLDER), ("a-3", VictimRole.HOLDER)}
    assert drawn(2, [view], names(view)) == {("a-2", VictimRole.SUPER_NODE)}
    assert drawn(3, [view], names(view)) == {("a-0", VictimRole.OWNER)}


def test_only_peers_that_may_be_killed_are_drawn() -> None:
    """If none of the role may be, one of the next role is; if none at all may be, none is."""
    view = ring("a", 6, super_node="a-2")
    assert drawn(0, [view], {"a-3", "a-2"}) == {("a-3", VictimRole.HOLDER)}
    assert drawn(1, [view], {"a-0"}) == {("a-0", VictimRole.OWNER)}
    assert drawn(0, [view], {"a-4"}) == set()
    assert drawn(0, [], {"a-0"}) == set()


def test_a_cluster_without_a_super_node_loses_another_member() -> None:
    """While its members elect one."""
    view = ring("a", 6)
    assert drawn(2, [view], names(view)) == {("a-0", VictimRole.OWNER)}


def test_all_clusters_are_drawn_from() -> None:
    """Each has an owner for every topic."""
    rings = [ring("a", 6), ring("b", 4)]
    assert drawn(0, rings, {"a-0", "b-0"}) == {("a-0", VictimRole.OWNER), ("b-0", VictimRole.OWNER)}
