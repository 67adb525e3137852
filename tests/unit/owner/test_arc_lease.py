"""Arc lease: a member answers for its arc while its lease runs, and for nothing else."""

from __future__ import annotations

import pytest

from p2psub.model.ids import key_of_topic
from p2psub.model.instants import Micros
from p2psub.model.places import Table
from p2psub.owner.arc_lease import ArcLease
from tests.unit.bench import CONFIG, TICK_US, at, step_at, table_of, topic_in

LEASE_US = CONFIG.cluster.lease_ticks * TICK_US
MINE, NOT_MINE = key_of_topic(topic_in(32, 64)), key_of_topic(topic_in(64, 128))


def arc_lease_of(table: Table | None, place: int = 64) -> ArcLease:
    """A member's arc lease, with a lease that was asked for at 0 if it has a table."""
    arc_lease = ArcLease(step_at(place), CONFIG.cluster, TICK_US)
    if table is not None:
        arc_lease.adopt(table)
        arc_lease.renew(Micros(0), None)
    return arc_lease


def test_member_serves_exactly_its_arc() -> None:
    """From the member before it, not included, to itself, included."""
    arc_lease = arc_lease_of(table_of(32, 64, 128))
    assert arc_lease.serves(MINE)
    assert not arc_lease.serves(NOT_MINE)
    assert arc_lease.owner_of(NOT_MINE) == at(128)


def test_lease_runs_from_when_it_was_asked_for() -> None:
    """However late the answer comes: so its end comes first at the member."""
    arc_lease = arc_lease_of(None)
    arc_lease.adopt(table_of(32, 64))
    arc_lease._step.now = Micros(3 * TICK_US)
    arc_lease.renew(Micros(TICK_US), None)
    arc_lease._step.now = Micros(TICK_US + LEASE_US - 1)
    assert arc_lease.serves(MINE)
    arc_lease._step.now = Micros(TICK_US + LEASE_US)
    assert not arc_lease.serves(MINE)
    assert arc_lease.is_mine(MINE), "it still is the owner by its table"


def test_late_answer_does_not_shorten_a_lease() -> None:
    """Answers may overtake each other."""
    arc_lease = arc_lease_of(table_of(32, 64))
    arc_lease.renew(Micros(10), None)
    arc_lease.renew(Micros(5), None)
    arc_lease._step.now = Micros(LEASE_US + 9)
    assert arc_lease.is_running


def test_without_a_table_nothing_is_served() -> None:
    """Nor under a table that does not name us."""
    lonely, stranger = arc_lease_of(None), arc_lease_of(table_of(32, 128))
    assert not lonely.is_running
    assert not stranger.is_running
    assert not stranger.is_mine(MINE)
    assert lonely.owner_of(MINE) is None


def test_giving_up_ends_the_lease_at_once() -> None:
    """Two terms met: until one of them grants anew, nothing is served."""
    arc_lease = arc_lease_of(table_of(32, 64))
    arc_lease.give_up()
    assert not arc_lease.serves(MINE)
    arc_lease.renew(Micros(1), None)
    assert arc_lease.serves(MINE)


def test_word_of_the_members_is_fresh_for_a_lease_also_without_one() -> None:
    """A member that changes sides serves nothing, but what the term before told it is true."""
    arc_lease = arc_lease_of(table_of(32, 64))
    arc_lease.give_up()
    fresh = []
    for now in (LEASE_US - 1, LEASE_US):
        arc_lease._step.now = Micros(now)
        fresh.append(arc_lease.is_fresh)
    assert fresh == [True, False]
    assert not arc_lease_of(None).is_fresh


@pytest.mark.parametrize(
    ("members", "seen", "required"),
    [(1, 1, 1), (2, 2, 2), (1, 2, 2), (1, 3, 3), (2, 3, 2), (2, 4, 3), (5, 5, 3), (2, 9, 3)],
)
def test_required_copies_follow_the_members_seen_lately(members: int, seen: int, required: int) -> None:
    """min(3, seen): who was cut off still counts. A majority goes on with what it has."""
    table = table_of(*range(64, 64 + members), seen=seen)
    assert arc_lease_of(table).required_copies(3) == required
