"""Anti-entropy: whatever two super-nodes hold, they end with the same, and only the complete make others complete."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.config import CubeConfig, NodeConfig
from p2psub.model.changes import Change
from p2psub.model.messages import Message
from p2psub.model.messages.cube import ChangeBatch, CubeHeartbeat, VectorOffer
from p2psub.node.cores import Cores
from p2psub.node.leadership import Leadership
from p2psub.node.life_cycle import LifeCycle
from tests.unit.bench import (
    CLUSTER,
    at,
    change_of,
    cores_at,
    epoch,
    hold_up,
    on_topic,
    sent,
    sent_of,
    subscription_of,
    tick,
)

SMALL = NodeConfig(cube=CubeConfig(batch_changes_max=3))


def numbered(term: int, count: int) -> list[Change]:
    """The first changes of a term."""
    records = (subscription_of(on_topic("x"), n, subscriber=term) for n in range(1, count + 1))
    return [change_of(record, n, epoch(term, term)) for n, record in enumerate(records, 1)]


def holder(place: int, *changes: Change) -> Cores:
    """A node that holds changes, in batches of three at most."""
    cores = cores_at(place, config=SMALL)
    for change in changes:
        cores.changes.add(change)
    return cores


def filling(place: int, *changes: Change) -> Cores:
    """A super-node that may lack changes."""
    cores = holder(place, *changes)
    Leadership(cores, LifeCycle(), ()).found_cluster(CLUSTER)
    return cores


def hear(cores: Cores, sender: Cores, message: Message) -> None:
    """Hand a message of the exchange over."""
    peer = sender.step.me
    match message:
        case VectorOffer():
            cores.antientropy.on_vector_offer(peer, message)
        case ChangeBatch():
            cores.antientropy.on_change_batch(peer, message)
        case _:
            raise AssertionError(message)


def talk(one: Cores, other: Cores) -> int:
    """Let two nodes talk until they are silent; how many messages that took."""
    count = 0
    while one.step.sends or other.step.sends:
        for speaker, listener in ((one, other), (other, one)):
            for _, message in sent(speaker.step):
                count += 1
                assert count < 200, "they never stop"
                hear(listener, speaker, message)
    return count


def report(cores: Cores, *, complete: bool = True) -> CubeHeartbeat:
    """What a super-node tells its neighbours on a beat."""
    return CubeHeartbeat(CLUSTER, b"", cores.changes.digest, complete)


COUNTS = st.lists(st.integers(0, 7), min_size=3, max_size=3)


@settings(max_examples=50)
@given(COUNTS, COUNTS)
def test_two_nodes_end_with_the_union(mine: list[int], theirs: list[int]) -> None:
    """Batch by batch, in both directions, after one report; then they are silent."""
    one = holder(10, *(c for term, n in enumerate(mine, 1) for c in numbered(term, n)))
    other = holder(20, *(c for term, n in enumerate(theirs, 1) for c in numbered(term, n)))
    one.antientropy.on_cube_heartbeat(at(20), report(other))
    talk(one, other)
    assert one.changes.vector == other.changes.vector
    most = [max(pair) for pair in zip(mine, theirs, strict=True)]
    assert sorted(one.changes.vector.values()) == sorted(n for n in most if n)
    other.antientropy.on_cube_heartbeat(at(10), report(one))
    assert talk(one, other) == 0


def test_equal_digests_cost_nothing() -> None:
    """A settled overlay exchanges only reports."""
    one, other = holder(10, *numbered(1, 4)), holder(20, *numbered(1, 4))
    one.antientropy.on_cube_heartbeat(at(20), report(other))
    assert sent(one.step) == []


def test_batches_are_bounded_and_contiguous() -> None:
    """At most what the configuration says, from where the other's knowledge ends."""
    giver = holder(10, *numbered(1, 7))
    taker = holder(20, *numbered(1, 2))
    giver.antientropy.on_vector_offer(at(20), VectorOffer(taker.changes.as_vector()))
    ((to, batch),) = sent(giver.step)
    assert to == at(20)
    assert isinstance(batch, ChangeBatch)
    assert [change.number.n for change in batch.changes] == [3, 4, 5]


def test_completeness_spreads_only_to_who_holds_everything() -> None:
    """A filling cluster is complete when it holds all that a complete neighbour holds, not before."""
    one, other = filling(10), holder(20, *numbered(1, 4))
    batch = ChangeBatch(tuple(numbered(1, 3)), other.changes.as_vector(), True)
    one.antientropy.on_change_batch(at(20), batch)
    assert not one.office.is_complete
    sent(one.step)
    one.antientropy.on_change_batch(at(20), ChangeBatch(tuple(numbered(1, 4)[3:]), other.changes.as_vector(), True))
    assert one.office.is_complete


def test_incomplete_neighbour_makes_nobody_complete() -> None:
    """Two that lack the same would otherwise assure each other."""
    one, other = filling(10, *numbered(1, 2)), holder(20, *numbered(1, 2))
    assert one.office.term is not None
    one.office.term.completeness.on_cube_heartbeat(at(20), report(other, complete=False))
    assert not one.office.is_complete
    one.office.term.completeness.on_cube_heartbeat(at(20), report(other, complete=True))
    assert one.office.is_complete


def test_every_offer_is_answered() -> None:
    """Whoever fills up must know when there is nothing more to get."""
    one, other = holder(10, *numbered(1, 4)), holder(20, *numbered(1, 4))
    one.antientropy.on_vector_offer(at(20), VectorOffer(other.changes.as_vector()))
    ((to, batch),) = sent(one.step)
    assert isinstance(batch, ChangeBatch)
    assert (to, batch.changes, batch.vector) == (at(20), (), one.changes.as_vector())
    other.antientropy.on_change_batch(at(10), batch)
    assert sent(other.step) == []


def test_a_deposed_super_node_offers_until_its_successor_has_everything() -> None:
    """Whatever of it is lost; then it is silent."""
    deposed, successor = holder(1, *numbered(1, 7)), holder(2, *numbered(2, 2))
    deposed.antientropy.bequeath(successor.step.me)
    for _ in range(3):
        assert sent(deposed.step), "the successor is out of sight: all of it is lost"
        deposed.step.tick += 16
        deposed.antientropy.beat(successor.step.me)
    talk(deposed, successor)
    assert successor.changes.as_vector() == deposed.changes.as_vector()
    deposed.antientropy.beat(successor.step.me)
    talk(deposed, successor)
    deposed.antientropy.beat(successor.step.me)
    assert not sent(deposed.step)


def test_who_rules_again_has_nobody_to_leave_its_changes_to() -> None:
    """It holds them itself."""
    deposed, successor = holder(1, *numbered(1, 1)), holder(2)
    deposed.antientropy.bequeath(successor.step.me)
    deposed.antientropy.inherit()
    sent(deposed.step)
    deposed.antientropy.beat(successor.step.me)
    assert not sent(deposed.step)


def test_an_offer_that_waits_for_its_link_is_not_made_again() -> None:
    """And one that has left ever more seldom, until a batch answers it: that may have to wait behind much."""
    one, other = holder(10), holder(20, *numbered(1, 2))
    one.antientropy.on_cube_heartbeat(at(20), report(other))
    (waiting,) = hold_up(one.step)
    sent(one.step)
    tick(one.step, lambda: one.antientropy.on_cube_heartbeat(at(20), report(other)), 20)
    assert sent(one.step) == []
    waiting.leave(one.step.tick, 0)
    offered: list[int] = []
    for count in range(1, 65):
        tick(one.step, lambda: one.antientropy.on_cube_heartbeat(at(20), report(other)))
        offered += [count for _ in sent(one.step)]
    assert offered == [1, 3, 7, 15, 31, 47, 63]
    one.antientropy.on_change_batch(at(20), ChangeBatch((), (), False))
    one.antientropy.on_cube_heartbeat(at(20), report(other))
    assert len(sent(one.step)) == 1


def test_a_batch_that_has_not_come_yet_is_not_given_again() -> None:
    """Not while it waits for its link, nor at once when it left; the next is, as soon as its receiver has this one."""
    giver, taker = holder(10, *numbered(1, 7)), holder(20)
    shown = VectorOffer(taker.changes.as_vector())
    giver.antientropy.on_vector_offer(at(20), shown)
    (waiting,) = hold_up(giver.step)
    ((_, batch),) = sent_of(giver.step, ChangeBatch)
    tick(giver.step, lambda: giver.antientropy.on_vector_offer(at(20), shown), 20)
    assert sent(giver.step) == []
    waiting.leave(giver.step.tick, 3)
    tick(giver.step, lambda: giver.antientropy.on_vector_offer(at(20), shown), 4)
    assert sent(giver.step) == []
    tick(giver.step, lambda: giver.antientropy.on_vector_offer(at(20), shown))
    assert [again.changes for _, again in sent_of(giver.step, ChangeBatch)] == [batch.changes]
    for change in batch.changes:
        taker.changes.add(change)
    giver.antientropy.on_vector_offer(at(20), VectorOffer(taker.changes.as_vector()))
    assert [change.number.n for _, more in sent_of(giver.step, ChangeBatch) for change in more.changes] == [4, 5, 6]


def test_what_is_lost_with_its_link_is_offered_and_given_at_once() -> None:
    """Whoever is there again knows nothing of it."""
    one, other = holder(10, *numbered(1, 2)), holder(20, *numbered(2, 2))
    for _ in range(2):
        one.antientropy.on_cube_heartbeat(at(20), report(other))
        one.antientropy.on_vector_offer(at(20), VectorOffer(other.changes.as_vector()))
        assert [type(message) for _, message in sent(one.step)] == [VectorOffer, ChangeBatch]
        one.antientropy.link_lost(at(20).id)
