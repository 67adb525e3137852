"""The store's log: packs are durable with their Persist, a start reads heads alone, bodies come when asked for."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random

import msgspec
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from p2psub.model.effects import Pack, Persist, ReadPacks, StoredPacks, Write
from p2psub.model.step import Body
from p2psub.runtime.namespaces import MEMBERSHIP_NAMESPACE
from p2psub.runtime.packs import PackCodec
from p2psub.runtime.store import Store
from p2psub.runtime.store_file import StoreError
from p2psub.runtime.store_tables import ERASED_PACKS_MAX, READ_BYTES_MAX, READ_PACKS_MAX
from tests.unit.bench import epoch
from tests.unit.runtime.pack_process import pack_of
from tests.unit.runtime.processes import process
from tests.unit.runtime.told import PLAIN_PACKS, Told, trouble_of
from tests.volumes import small_volume

WRITER = "tests.unit.runtime.pack_process"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "node.sqlite"


@asynccontextmanager
async def running(path: Path, bytes_max: int | None = None) -> AsyncIterator[tuple[Store, Told]]:
    """One life of a store that ends as in a crash: nothing is drained."""
    told = Told()
    with closing(Store.open(path, bytes_max, PLAIN_PACKS)) as store:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, told)
            yield store, told
            nursery.cancel_scope.cancel()


async def keep(path: Path, *packs: Pack, erased: list[int] | None = None) -> None:
    """One life of a store, in which these packs are appended, and these erased."""
    with closing(Store.open(path, codec=PLAIN_PACKS)) as store:
        store.put(Persist(1, [], list(packs), erased or []))
        await store.drain()


async def read_in(path: Path, *numbers: int) -> list[Body]:
    """The bodies that a process finds."""
    async with running(path) as (store, told):
        store.read(ReadPacks(1, list(numbers)))
        return await told.bodies(1, len(numbers))


def found_in(path: Path) -> StoredPacks:
    """What a process finds when it starts."""
    with closing(Store.open(path, codec=PLAIN_PACKS)) as store:
        return store.load_packs()


def sql(path: Path, *statements: str) -> list[tuple[object, ...]]:
    """Do this to the file behind the store's back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return [row for statement in statements for row in connection.execute(statement)]


# Appending, erasing, reading


class _Head(msgspec.Struct, frozen=True):
    ids: tuple[int, ...]


async def test_heads_and_bodies_come_back_with_their_types(path: Path) -> None:
    """The store is told which they have."""
    codec = PackCodec(_Head, tuple[_Head, ...])
    with closing(Store.open(path, codec=codec)) as store:
        store.put(Persist(1, [], [Pack(1, _Head((1, 2)), (_Head((3,)),))]))
        await store.drain()
        assert store.load_packs() == StoredPacks(1, {1: _Head((1, 2))})
        told = Told()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, told)
            store.read(ReadPacks(1, [1]))
            assert await told.bodies(1, 1) == [(1, (_Head((3,)),))]
            nursery.cancel_scope.cancel()


async def test_numbers_are_never_given_again(path: Path) -> None:
    """The highest number is remembered, although its pack was erased long ago."""
    await keep(path, pack_of(1), pack_of(5))
    assert found_in(path) == StoredPacks(5, {1: ["head", 1], 5: ["head", 5]})
    await keep(path, erased=[1, 5])
    assert found_in(path) == StoredPacks(5, {})


async def test_what_is_erased_before_it_is_written_is_not_written(path: Path) -> None:
    """In one Persist, in one commit, or while the commit that writes it is under way, a pack that is erased is gone."""
    with closing(Store.open(path, codec=PLAIN_PACKS)) as store:
        store.put(Persist(1, [], [pack_of(1), pack_of(2), pack_of(3)], [1]))
        store.put(Persist(2, [], [], [2]))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.drain)
            await trio.testing.wait_all_tasks_blocked()
            store.put(Persist(3, [], [], [3]))
        await store.drain()
        assert store.load_packs().heads == {}
    assert sql(path, "SELECT count(*) FROM pack_body") == [(0,)]


async def test_a_start_reads_no_body(path: Path) -> None:
    """Heads load although every page of every body is destroyed."""
    await keep(path, *map(pack_of, range(1, 9)))
    sql(path, "UPDATE pack_body SET body = zeroblob(20000)")
    assert list(found_in(path).heads) == list(range(1, 9))
    assert await read_in(path, 3) == [(3, None)]


async def test_pages_are_bounded_and_a_commit_goes_between_two(path: Path) -> None:
    """A read of much is answered in several parts, each of bounded size, and a Persist waits for one at most."""
    count = 3 * READ_BYTES_MAX // 20_000
    async with running(path) as (store, told):
        store.put(Persist(1, [], [pack_of(n) for n in range(1, count + 1)]))
        await told.wait(1)
        store.read(ReadPacks(1, list(range(1, count + 1))))
        await told.wait_until(lambda: len(told.pages) == 1)
        store.put(Persist(2, [Write(MEMBERSHIP_NAMESPACE, ("cluster",), ("blue", epoch(1, 1)))]))
        await told.wait(2)
        assert len(told.pages) <= 2
        assert await told.bodies(1, count) == [(n, pack_of(n).body) for n in range(1, count + 1)]
    sizes = [20_000 * len(page.bodies) for page in told.pages]
    assert max(sizes) < READ_BYTES_MAX + 2 * 20_000
    assert len(sizes) >= 3


async def test_many_small_packs_are_many_pages(path: Path) -> None:
    """The number of packs in a page is bounded, too."""
    packs = [Pack(n, None, n) for n in range(1, 2 * READ_PACKS_MAX + 2)]
    await keep(path, *packs)
    async with running(path) as (store, told):
        store.read(ReadPacks(1, [pack.number for pack in packs]))
        assert await told.bodies(1, len(packs)) == [(pack.number, pack.body) for pack in packs]
        assert [len(page.bodies) for page in told.pages] == [READ_PACKS_MAX, READ_PACKS_MAX, 1]


async def test_the_oldest_are_erased_first_and_a_few_at_a_time(path: Path) -> None:
    """Whatever the order asked for; the Persist is durable before all are gone, and draining erases the rest."""
    count = 3 * ERASED_PACKS_MAX
    await keep(path, *(Pack(n, None, None) for n in range(1, count + 1)))
    async with running(path) as (store, told):
        asked = list(range(1, count + 1))
        Random(1).shuffle(asked)
        store.put(Persist(1, [], [], asked))
        await told.wait(1)
    left = list(found_in(path).heads)
    assert left == list(range(count - len(left) + 1, count + 1))
    assert left
    await keep(path, erased=left)
    assert found_in(path) == StoredPacks(count, {})


async def test_erasing_much_at_once_is_bounded_by_what_it_frees(path: Path) -> None:
    """A commit stops erasing after a few megabytes of bodies."""
    await keep(path, *(Pack(n, None, b"x" * 100_000) for n in range(1, 101)))
    async with running(path) as (store, told):
        store.put(Persist(1, [], [], list(range(1, 101))))
        await told.wait(1)
    assert 30 < len(found_in(path).heads) < 70


async def test_the_file_shrinks_when_much_is_erased(path: Path) -> None:
    """A running store gives space back, without rewriting the file, and keeps some for what comes next."""
    await keep(path, *(Pack(n, None, b"x" * 1_000_000) for n in range(1, 41)))
    full = path.stat().st_size
    async with running(path) as (store, told):
        store.put(Persist(1, [], [], list(range(1, 41))))
        await told.wait(1)
        await store.tidy()
    assert 10_000_000 < path.stat().st_size < full / 2


# Against a plain dict


APPEND, ERASE, READ, DRAIN, CRASH = "append", "erase", "read", "drain", "crash"
DEEDS = st.lists(
    st.tuples(st.sampled_from([APPEND, APPEND, ERASE, READ, DRAIN, CRASH]), st.integers(0, 1 << 16)), max_size=30
)


class Oracle:
    """A store, and what must be in it: packs that are durable, and those that may be."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.durable: dict[int, object] = {}
        self.written: dict[int, object] = {}
        self.last = 0
        self._number = 0
        self._store = Store.open(path, codec=PLAIN_PACKS)

    def _put(self, *packs: Pack, erased: tuple[int, ...] = ()) -> None:
        self._number += 1
        self._store.put(Persist(self._number, [], list(packs), list(erased)))

    async def do(self, deed: str, dice: int) -> None:
        """One deed, and the check that belongs to it."""
        if deed == APPEND:
            self.last += 1
            body = "x" * (dice % 9_000)
            self.written[self.last] = body
            self._put(Pack(self.last, len(body), body))
        elif deed == ERASE and self.written:
            number = sorted(self.written)[dice % len(self.written)]
            del self.written[number]
            self._put(erased=(number,))
        elif deed == DRAIN:
            await self._store.drain()
            self.durable = dict(self.written)
        elif deed == READ and self.written:
            await self._read(dice)
        elif deed == CRASH:
            self._crash()

    async def _read(self, dice: int) -> None:
        numbers = Random(dice).choices(sorted(self.written), k=1 + dice % 7)
        told = Told()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._store._keep_reading, told)
            self._store.read(ReadPacks(1, numbers))
            assert await told.bodies(1, len(numbers)) == [(number, self.written[number]) for number in numbers]
            nursery.cancel_scope.cancel()

    def _crash(self) -> None:
        self._store.close()
        self._store = Store.open(self._path, codec=PLAIN_PACKS)
        found = self._store.load_packs()
        # What was not drained is lost, and what was erased and not drained is back.
        assert found.heads == {number: len(str(body)) for number, body in self.durable.items()}
        assert found.last >= max(self.durable, default=0)
        self.written, self.last, self._number = dict(self.durable), found.last, 0

    def close(self) -> None:
        """End the last life."""
        self._crash()
        self._store.close()


async def live(path: Path, deeds: list[tuple[str, int]]) -> None:
    """A store's whole life."""
    with closing(Oracle(path)) as oracle:
        for deed, dice in deeds:
            await oracle.do(deed, dice)


@settings(max_examples=40)
@given(DEEDS)
def test_a_store_is_a_dict_that_survives(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, int]]
) -> None:
    """Whatever is appended, erased and read, drained or lost in a crash: heads and bodies are those of a plain dict."""
    trio.run(live, tmp_path_factory.mktemp("store") / "node.sqlite", deeds)


# Crashes and damage


def test_a_kill_loses_no_pack_that_was_called_durable(path: Path) -> None:
    """Killed in the middle, a process leaves every pack it had reported and did not erase, whole."""
    reported = 0
    for round_ in range(4):
        with process(WRITER, path) as output:
            for _ in range(3 + 5 * round_):
                reported = int(output.readline().split()[1])
        found = found_in(path)
        left = sorted(found.heads)
        assert found.last >= reported
        assert left[-2:] == [found.last - 1, found.last]
        assert dict(found.heads) == {number: ["head", number] for number in left}
        assert trio.run(read_in, path, *left) == [(number, pack_of(number).body) for number in left]


async def test_a_damaged_body_is_told_and_costs_nothing_else(path: Path) -> None:
    """Flipped bytes or a lost row: the head is there, the body comes as None and is counted, others are as written."""
    await keep(path, *map(pack_of, range(1, 6)))
    sql(path, "UPDATE pack_body SET body = x'00' || body WHERE number = 2", "DELETE FROM pack_body WHERE number = 4")
    assert list(found_in(path).heads) == [1, 2, 3, 4, 5]
    async with running(path) as (store, told):
        store.read(ReadPacks(1, [1, 2, 3, 4, 5]))
        bodies = dict(await told.bodies(1, 5))
        assert [number for number, body in bodies.items() if body is None] == [2, 4]
        assert {n: bodies[n] for n in (1, 3, 5)} == {n: pack_of(n).body for n in (1, 3, 5)}
        assert (store.bodies_lost, store.damaged) == (2, ())


async def test_a_body_that_is_erased_before_its_turn_is_not_lost(path: Path) -> None:
    """Events may be discharged while their bodies are asked for: nobody is told to check the disk."""
    await keep(path, pack_of(1), pack_of(2))
    async with running(path) as (store, told):
        store.read(ReadPacks(1, [1, 2]))
        store.put(Persist(1, [], [], [1]))
        await store.drain()
        assert await told.bodies(1, 2) == [(1, None), (2, pack_of(2).body)]
        assert store.bodies_lost == 0


async def test_a_damaged_head_is_set_aside_with_its_body(path: Path) -> None:
    """It is counted, kept apart and logged; the other packs are loaded, and no body stays that nobody knows of."""
    await keep(path, *map(pack_of, range(1, 5)))
    sql(
        path,
        "UPDATE pack_head SET head = x'00' || head WHERE number = 2",
        "UPDATE pack_head SET number = 9 WHERE number = 4",
    )
    with closing(Store.open(path, codec=PLAIN_PACKS)) as store:
        packs = store.load_packs()
        assert list(packs.heads) == [1, 3]
        assert packs.last == 4
        assert [(row.number, row.namespace) for row in store.damaged] == [(2, "pack"), (9, "pack")]
    with closing(Store.open(path, codec=PLAIN_PACKS)) as store:
        assert store.load_packs() == packs
        assert store.damaged == ()
    assert sql(path, "SELECT number FROM pack_body", "SELECT number FROM damaged") == [(1,), (3,), (2,), (9,)]


async def test_no_flipped_bit_makes_a_wrong_pack(path: Path) -> None:
    """Wherever one bit flips, the store refuses, or every head is true or set aside and every body true or None."""
    packs = {n: Pack(n, f"head {n}" * 20, f"body {n}" * 30) for n in range(1, 21)}
    await keep(path, *packs.values())
    good, rng = path.read_bytes(), Random(7)
    used = [place for place, byte in enumerate(good) if byte]
    seen = {"refused": 0, "aside": 0, "lost": 0}
    for place in rng.sample(used, 60):
        bad = bytearray(good)
        bad[place] ^= 1 << rng.randrange(8)
        path.write_bytes(bad)
        try:
            with closing(Store.open(path, codec=PLAIN_PACKS)) as store:
                heads = store.load_packs().heads
        except StoreError:
            seen["refused"] += 1
            continue
        bodies = dict(await read_in(path, *packs))
        assert heads.items() <= {n: pack.head for n, pack in packs.items()}.items()
        assert len(heads) + len(store.damaged) == len(packs)
        assert all(body in {packs[n].body, None} for n, body in bodies.items())
        seen["aside"] += bool(store.damaged)
        seen["lost"] += any(bodies[n] is None for n in heads)
    assert min(seen.values()) > 0, seen


# A disk that takes nothing


async def test_erasing_makes_room_on_a_full_disk(path: Path, autojump_clock: MockClock) -> None:
    """Erasures go alone, a few at a time, until what waits finds room; meanwhile it can be read, and is not durable."""
    body = b"x" * 10_000
    async with running(path, bytes_max=6_000_000) as (store, told):
        store.put(Persist(1, [], [Pack(n, n, body) for n in range(1, 401)]))
        await told.wait(1)
        store.put(Persist(2, [], [Pack(n, n, body) for n in range(401, 801)]))
        assert (await trouble_of(store)).startswith("disk full: ")
        store.read(ReadPacks(1, [1, 800]))
        assert await told.bodies(1, 2) == [(1, body), (800, body)]
        await trio.sleep(60)
        assert (told.numbers, told.disk_states) == ([1], [True])
        store.put(Persist(3, [], [], list(range(1, 401))))
        await told.wait(3)
        assert told.disk_states == [True, False]
    assert found_in(path) == StoredPacks(800, {n: n for n in range(401, 801)})


async def test_a_volume_that_fills_and_is_freed_is_used_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Nothing is called durable while it is full; with room again the store goes on by itself, and loses nothing."""
    with small_volume(tmp_path / "volume") as volume:
        path, ballast = volume / "node.sqlite", volume / "ballast"
        async with running(path) as (store, told):
            store.put(Persist(1, [], [pack_of(1)]))
            await told.wait(1)
            free = shutil.disk_usage(volume).free
            ballast.write_bytes(bytes(free))
            store.put(Persist(2, [], [pack_of(n) for n in range(2, 12)]))
            assert (await trouble_of(store)).startswith("disk ")
            await trio.sleep(60)
            assert (told.numbers, told.disk_states) == ([1], [True])
            ballast.unlink()
            await told.wait(2)
            assert (store.trouble, told.disk_states) == (None, [True, False])
        assert list(found_in(path).heads) == list(range(1, 12))
