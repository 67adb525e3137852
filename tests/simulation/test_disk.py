"""The simulated disk: what is durable, and what a crash leaves of the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random

from p2psub.model.effects import Effect, Input, Pack, PacksRead, Persist, StoredPacks, Write
from p2psub.model.ids import Contact
from p2psub.model.instants import Micros
from p2psub.model.step import Body, Step
from sims.engine.disk import ERASED_PACKS_MAX, READ_PACKS_MAX, Disk
from sims.engine.host import Host
from sims.engine.placement import contact_for
from sims.engine.world import World
from tests.simulation.worlds import SECOND_US, core_of, make_world

Rows = Mapping[str, Mapping[tuple[object, ...], object]]


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
    """No Stored comes from a full disk, whose process is told once that it is full; freed, it stores what waited."""
    world, hosts = make_world(2)
    world.run_until(2 * SECOND_US)
    world.fill_disk(hosts[0])
    world.run_for(10_000)
    stored = len(core_of(hosts[0]).stored)
    world.run_for(3 * SECOND_US)
    assert len(core_of(hosts[0]).stored) == stored
    assert core_of(hosts[0]).disk_states == [True]
    world.free_disk(hosts[0])
    world.run_for(10_000)
    assert core_of(hosts[0]).disk_states == [True, False]
    assert core_of(hosts[1]).disk_states == []
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


# Packs


def _append(number: int, *packs: int, erased: tuple[int, ...] = ()) -> Persist:
    return Persist(number, [], [Pack(pack, f"head {pack}", f"body {pack}") for pack in packs], list(erased))


def test_packs_are_durable_with_their_batch_and_a_wipe_begins_anew() -> None:
    """A crash before `settle` loses them, `settle` keeps heads, bodies and the last number, and a wipe all of it."""
    disk = Disk()
    disk.accept(_append(1, 1, 2))
    assert disk.read([2]) == [(2, "body 2")]
    disk.full = True
    disk.crash(Random(1))
    assert (disk.packs(), disk.read([2])) == (StoredPacks(), [(2, None)])
    disk.full = False
    disk.accept(_append(2, 1, 2))
    assert disk.settle(2)
    assert disk.packs() == StoredPacks(2, {1: "head 1", 2: "head 2"})
    disk.accept(_append(3, erased=(1, 2)))
    assert disk.settle(3)
    assert disk.packs() == StoredPacks(2, {})
    disk.wipe()
    assert disk.packs() == StoredPacks()


def test_a_crash_brings_packs_back_whose_erasure_was_asked_for() -> None:
    """A batch erases a few, the oldest first; a crash forgets that the others were to go."""
    disk, count = Disk(), ERASED_PACKS_MAX + 3
    disk.accept(_append(1, *range(1, count + 1)))
    disk.accept(_append(2, erased=tuple(range(count, 0, -1))))
    assert disk.settle(2)
    left = list(range(ERASED_PACKS_MAX + 1, count + 1))
    assert list(disk.packs().heads) == left
    disk.crash(Random(1))
    disk.accept(_append(1, count + 1))
    assert disk.settle(1)
    assert list(disk.packs().heads) == [*left, count + 1]


class Archivist:
    """A core that appends packs at its start and reads all it knows of; a process of its own counts on."""

    def __init__(self, host: Host, rng: Random, found: StoredPacks, appends: int) -> None:
        self.found = found
        self.bodies: list[Body] = []
        self.pages: list[int] = []
        self._step = Step(host.contact, host.incarnation, rng, last_pack=found.last)
        self._appends = appends

    def step(self, inputs: list[Input], now: Micros) -> list[Effect]:
        """Append and read in the first step, then take what comes."""
        self._step.now = now
        if self._appends:
            new = [self._step.append("head", f"{self._step.incarnation}") for _ in range(self._appends)]
            self._step.read([*self.found.heads, *new], self._take)
            self._appends = 0
        for input_ in inputs:
            if isinstance(input_, PacksRead):
                self._step.take_bodies(input_.number, input_.bodies)
        return self._step.close()

    def _take(self, page: list[Body]) -> None:
        self.pages.append(len(page))
        self.bodies += page


def test_a_core_reads_what_it_and_an_earlier_process_appended() -> None:
    """Answers come later, a page at a time, in the order asked for; a rotten body comes as None and is recorded."""
    world = World(7)

    def birth(host: Host, rng: Random, disk: Rows, contacts: tuple[Contact, ...]) -> Archivist:
        assert (disk, contacts) == ({}, ())
        return Archivist(host, rng, host.disk.packs(), READ_PACKS_MAX)

    host = world.add_host(contact_for(7, "n0"), None, birth)
    world.start(host)
    world.run_for(SECOND_US)
    world.crash(host)
    world.rot_disk(host)
    world.start(host)
    world.run_for(1)
    core = host.core
    assert isinstance(core, Archivist)
    assert core.bodies == []
    world.run_for(SECOND_US)
    last = 2 * READ_PACKS_MAX
    assert [number for number, _ in core.bodies] == list(range(1, last + 1))
    assert core.pages == [READ_PACKS_MAX] * 2
    written = {"1": READ_PACKS_MAX - 1, "2": READ_PACKS_MAX, None: 1}
    assert Counter(body for _, body in core.bodies) == written
    assert [(record.reason, record.count) for _, record in world.trace.entries] == [("unreadable", 1)]
