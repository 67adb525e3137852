"""The simulated disk: what is durable, and what a crash leaves of the rest."""

from __future__ import annotations

from random import Random

from p2psub.model.effects import Persist, Write
from sims.engine.disk import Disk
from tests.simulation.worlds import SECOND_US, core_of, make_world


def _batch(number: int) -> Persist:
    return Persist(number, [Write("namespace", ("last",), number), Write("namespace", (number,), "row")])


def test_rows_are_durable_once_stored_and_only_then() -> None:
    """A batch counts after `settle`, and a write without value removes its row."""
    disk = Disk()
    disk.accept(_batch(1))
    assert disk.contents() == {}
    assert disk.settle(1)
    assert disk.contents() == {"namespace": {("last",): 1, (1,): "row"}}
    disk.accept(Persist(2, [Write("namespace", (1,), None)]))
    assert disk.settle(2)
    assert disk.contents() == {"namespace": {("last",): 1}}


def test_crash_keeps_a_first_part_of_the_batches_under_way() -> None:
    """Whatever the cut, no batch survives without all batches before it; every cut happens."""
    kept = set()
    for seed in range(200):
        disk = Disk()
        for number in (1, 2, 3):
            disk.accept(_batch(number))
        disk.crash(Random(seed))
        rows = disk.contents().get("namespace", {})
        last = rows.get(("last",), 0)
        assert [number for number in (1, 2, 3) if (number,) in rows] == list(range(1, int(str(last)) + 1))
        kept.add(last)
    assert kept == {0, 1, 2, 3}


def test_full_disk_stores_nothing_until_it_is_freed() -> None:
    """No Stored comes from a full disk; freed, it stores what waited."""
    world, hosts = make_world(2)
    world.run_until(2 * SECOND_US)
    world.fill_disk(hosts[0])
    world.run_for(10_000)
    stored = len(core_of(hosts[0]).stored)
    world.run_for(3 * SECOND_US)
    assert len(core_of(hosts[0]).stored) == stored
    world.free_disk(hosts[0])
    world.run_for(10_000)
    assert core_of(hosts[0]).stored[-1] >= core_of(hosts[0]).beats - 1


def test_restart_finds_the_disk_and_a_wiped_one_is_empty() -> None:
    """The same id comes back under a higher incarnation, with its rows unless they were wiped."""
    world, hosts = make_world(2)
    world.run_until(5_200_000)
    beats = core_of(hosts[0]).beats
    world.crash(hosts[0])
    world.start(hosts[0])
    assert core_of(hosts[0]).beats_found in {beats - 1, beats}
    assert core_of(hosts[0]).incarnation == 2
    world.crash(hosts[0], wipe=True)
    world.start(hosts[0])
    assert core_of(hosts[0]).beats_found == 0
    assert core_of(hosts[0]).incarnation == 3


def test_a_node_cannot_see_later_writes_in_what_it_was_given() -> None:
    """What a process finds at its start is a copy."""
    disk = Disk()
    disk.accept(_batch(1))
    disk.settle(1)
    found = disk.contents()
    disk.accept(_batch(2))
    disk.settle(2)
    assert found == {"namespace": {("last",): 1, (1,): "row"}}
