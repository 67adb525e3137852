"""Coming back together: nobody leads only if everybody who could know says so."""

from __future__ import annotations

from p2psub.model.messages.cluster import Vacancy
from p2psub.model.places import Table
from p2psub.overlay.cold_start import ColdStart
from tests.unit.bench import CLUSTER, at, epoch, node_at, step_at, table_of

TABLE = table_of(10, 20, 30)


def back(table: Table | None = TABLE, ticks: int = 6) -> ColdStart:
    """The node at 10, some ticks after it came back."""
    cold_start = ColdStart(step_at(10))
    cold_start.recover(table)
    for _ in range(ticks):
        cold_start._step.tick += 1
    return cold_start


def hear(cold_start: ColdStart, *places: int, table: Table = TABLE, incarnation: int = 2) -> None:
    """Others say that they hear nobody who leads."""
    for place in places:
        cold_start.hear(at(place), Vacancy(CLUSTER, incarnation, epoch(1, 1), table))


def test_everybody_of_the_last_table_must_say_so() -> None:
    """One that is silent may follow a super-node whom we do not hear."""
    cold_start = back()
    hear(cold_start, 20, 40)
    early = cold_start.is_agreed
    hear(cold_start, 30)
    assert (early, cold_start.is_agreed) == (False, True)
    assert cold_start.others() == [at(20), at(30)]


def test_newest_table_counts() -> None:
    """Whoever was away for longer does not know who came after it."""
    cold_start = back()
    hear(cold_start, 20)
    hear(cold_start, 30, table=table_of(10, 20, 30, 40, n=2))
    early = cold_start.is_agreed
    hear(cold_start, 40, table=table_of(30, 40, n=1))
    assert (early, cold_start.is_agreed) == (False, True)


def test_nothing_is_agreed_at_once_nor_for_ever() -> None:
    """Whoever lives on has the time to speak up; who said so long ago may follow somebody by now."""
    cold_start = back(ticks=0)
    hear(cold_start, 20, 30)
    agreed = []
    for _ in range(10):
        cold_start._step.tick += 1
        agreed.append(cold_start.is_agreed)
    assert agreed == [False] * 5 + [True] * 2 + [False] * 3


def test_member_that_was_alone_need_not_ask_anybody() -> None:
    """Its table names nobody else."""
    assert back(table_of(10)).is_agreed
    assert not back(None).is_agreed


def test_process_that_came_back_is_known() -> None:
    """One that came back later, without its disk, is another."""
    cold_start = back()
    hear(cold_start, 20, incarnation=7)
    assert (cold_start.incarnation_of(node_at(20)), cold_start.incarnation_of(node_at(30))) == (7, None)
