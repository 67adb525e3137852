"""The change set: the same changes are the same knowledge, in any order; a hole is never taken for knowledge."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.changes import Change, ChangeNumber, LogId
from p2psub.model.circle import is_in_arc
from p2psub.model.content import Declaration, Subscription, keys_of
from p2psub.super_node.change_set import ChangeSet
from tests.unit.bench import CLUSTER, CONFIG, change_of, epoch, node_at, on_topic, step_at, subscription_of

SHARDS = CONFIG.pubsub.shards
ONE, TWO = epoch(1, 1), epoch(2, 2)


def record(name: int, version: int) -> Subscription:
    """One version of one of a few subscriptions; odd versions are active."""
    return subscription_of(on_topic(f"t{name}"), name, version=version, is_active=version % 2 == 1)


RECORDS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), max_size=8)


@st.composite
def some_changes(draw: st.DrawFn) -> list[Change]:
    """The changes of two terms, numbered from 1 without gaps."""
    return [change_of(record(*drawn), n, term) for term in (ONE, TWO) for n, drawn in enumerate(draw(RECORDS), start=1)]


def set_of(changes: list[Change]) -> ChangeSet:
    """A set that took the changes in this order."""
    held = ChangeSet(step_at(1), SHARDS)
    for change in changes:
        held.add(change)
    return held


def standing(held: ChangeSet) -> dict[object, Declaration]:
    """The standing record of every subscription known."""
    ids = [record(n, 1).id for n in (1, 2, 3)]
    found = ((id_, held.current(id_)) for id_ in ids)
    return {id_: change.record for id_, change in found if change is not None}


@given(some_changes(), st.data())
def test_order_and_repetition_do_not_matter(changes: list[Change], data: st.DataObject) -> None:
    """Two nodes that got the same changes hold the same vector, digest and standing records."""
    shuffled = data.draw(st.permutations(changes + changes[: len(changes) // 2]))
    one, other = set_of(changes), set_of(shuffled)
    assert one.vector == other.vector
    assert one.digest == other.digest
    assert standing(one) == standing(other)
    assert set(one.active()) == set(other.active())


@given(some_changes(), st.data())
def test_vector_names_only_what_has_nothing_missing_before_it(changes: list[Change], data: st.DataObject) -> None:
    """Whatever subset arrived: per log the highest number below which all are here."""
    arrived = data.draw(st.lists(st.sampled_from(changes), unique=True)) if changes else []
    held = set_of(arrived)
    for term in (ONE, TWO):
        numbers = {change.number.n for change in arrived if change.number.log.epoch == term}
        contiguous = next(n for n in range(len(numbers) + 2) if n + 1 not in numbers)
        log = LogId(CLUSTER, term)
        assert held.vector.get(log, 0) == contiguous
        assert held.holds(ChangeNumber(log, contiguous))
        assert not held.holds(ChangeNumber(log, contiguous + 1))


@given(some_changes(), st.integers(1, 5))
def test_giving_what_is_missing_ends_with_both_holding_all(mine: list[Change], most: int) -> None:
    """Batch by batch, never more than `most`, in an order that leaves no hole."""
    giver, taker = set_of(mine), ChangeSet(step_at(1), SHARDS)
    while batch := giver.missing_in(taker.vector, most):
        assert len(batch) <= most
        for change in batch:
            assert taker.add(change)
            assert taker.holds(change.number)
    assert taker.contains(giver.as_vector())
    assert taker.digest == giver.digest


def test_new_is_told_from_known() -> None:
    """Also for a change that waits for those before it."""
    held, later = ChangeSet(step_at(1), SHARDS), change_of(record(1, 1), 2)
    assert held.add(later)
    assert not held.add(later)
    assert held.add(change_of(record(2, 1), 1))
    assert not held.add(later)
    assert held.vector == {LogId(CLUSTER, epoch(1, 1)): 2}


def test_ended_subscription_is_not_active_and_old_news_do_not_revive_it() -> None:
    """The higher version stands."""
    held = set_of([change_of(record(1, 2), 2), change_of(record(1, 1), 1)])
    assert list(held.active()) == []
    held.add(change_of(record(1, 3), 3))
    assert list(held.active()) == [record(1, 3)]


@given(some_changes(), st.integers(0, 255), st.integers(0, 255))
def test_arc_gets_every_active_subscription_with_a_key_in_it(changes: list[Change], low: int, high: int) -> None:
    """An index is built from that: one that is missing is a lost event."""
    held = set_of(changes)
    start, end = node_at(low), node_at(high)
    wanted = {r.id for r in held.active() if any(is_in_arc(start, key, end) for key in keys_of(r, SHARDS))}
    assert {change.record.id for change in held.active_in_arc(start, end)} == wanted


def test_subscriptions_of_a_peer_are_its_own() -> None:
    """Whatever their incarnation."""
    mine, later = subscription_of(on_topic("x"), 1, 7), subscription_of(on_topic("x"), 1, 7, incarnation=2)
    held = set_of([change_of(r, n) for n, r in enumerate((mine, subscription_of(on_topic("x"), 1, 8), later), 1)])
    assert held.active_of(node_at(7)) == [mine, later]
