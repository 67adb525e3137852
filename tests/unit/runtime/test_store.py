"""What the store called durable is there after any end of the process; what is not durable is never called so."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from random import Random
from typing import cast

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from p2psub.model.changes import Change, ChangeNumber
from p2psub.model.content import Draft
from p2psub.model.effects import (
    Input,
    Notify,
    Persist,
    PublishCommand,
    SetTimer,
    Stored,
    SubscribeCommand,
    TimerFired,
    Write,
)
from p2psub.model.ids import ClusterId, Contact, Epoch
from p2psub.model.instants import Micros
from p2psub.node.core import NodeCore
from p2psub.overlay.hypercube import DIRECTORY_NAMESPACE
from p2psub.runtime.namespaces import MEMBERSHIP_NAMESPACE
from p2psub.runtime.store import Store
from p2psub.runtime.store_file import LAYOUT, StoreBusy, StoreDamaged, StoreError, StoreUnusable
from p2psub.super_node.change_set import CHANGE_NAMESPACE
from tests.oracles.instances import exact, instances_of
from tests.unit.bench import ANY, CLUSTER, CONFIG, at, change_of, epoch, on_topic, subscription_of
from tests.unit.runtime.full_disk import files_limited_to
from tests.unit.runtime.processes import process
from tests.unit.runtime.told import Told, trouble_of

WRITER = "tests.unit.runtime.store_process"
MEMBERSHIPS = st.tuples(instances_of(ClusterId), instances_of(Epoch)), st.lists(instances_of(Contact)).map(tuple)
ROWS = st.one_of(
    MEMBERSHIPS[0].map(lambda value: Write(MEMBERSHIP_NAMESPACE, ("cluster",), value)),
    MEMBERSHIPS[1].map(lambda value: Write(MEMBERSHIP_NAMESPACE, ("contacts",), value)),
    instances_of(Change).map(lambda change: Write(CHANGE_NAMESPACE, change.number, change)),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "node.sqlite"


def put_changes(store: Store, first: int, last: int, size: int = 0) -> None:
    """One Persist per change; each change takes `size` bytes and a little more."""
    for n in range(first, last + 1):
        change = change_of(subscription_of(on_topic("x" * size), n), n)
        store.put(Persist(n, [Write(CHANGE_NAMESPACE, change.number, change)]))


def names_in(store: Store) -> list[ChangeNumber]:
    """The changes in a store."""
    return [cast("ChangeNumber", name) for name in store.load().get(CHANGE_NAMESPACE, {})]


def numbers_in(path: Path) -> list[int]:
    """The numbers of the changes that a process finds when it starts."""
    with closing(Store.open(path)) as store:
        return [name.n for name in names_in(store)]


async def write_all(path: Path, *writes: Write) -> None:
    """One life of a store, in which these rows are written."""
    with closing(Store.open(path)) as store:
        store.put(Persist(1, list(writes)))
        await store.drain()


# Rows


@settings(max_examples=10)
@given(st.lists(ROWS, min_size=1, max_size=40))
def test_every_row_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, writes: list[Write]) -> None:
    """In all namespaces names and values come back with their types, sets, dates and infinities among them."""
    path = tmp_path_factory.mktemp("store") / "node.sqlite"
    trio.run(write_all, path, *writes)
    with closing(Store.open(path)) as store:
        disk = store.load()
        assert store.damaged == ()
    rows = {(write.namespace, write.name): write.value for write in writes}
    assert {(namespace, name): exact(value) for namespace, rows in disk.items() for name, value in rows.items()} == {
        place: exact(value) for place, value in rows.items()
    }


async def test_the_last_write_of_a_row_stands(path: Path) -> None:
    """Whether in one Persist, in one commit or in two, rows are written and erased in the order asked for."""
    first, second = (Write(MEMBERSHIP_NAMESPACE, ("cluster",), (name, epoch(1, 1))) for name in ("first", "second"))
    erased = Write(MEMBERSHIP_NAMESPACE, ("cluster",), None)
    for writes, left in [((first, second), "second"), ((first, erased), None), ((erased, first), "first")]:
        for batches in ([list(writes)], [[write] for write in writes]):
            with closing(Store.open(path)) as store:
                for number, batch in enumerate(batches, 1):
                    store.put(Persist(number, batch))
                await store.drain()
            with closing(Store.open(path)) as store:
                for number, write in enumerate(writes, 1):
                    store.put(Persist(number, [write]))
                    await store.drain()
                rows = store.load().get(MEMBERSHIP_NAMESPACE, {})
                assert [value[0] for value in rows.values()] == [left] * (left is not None)  # type: ignore[index]


async def test_rows_come_back_in_the_order_in_which_they_came(path: Path) -> None:
    """A node recovers its rows in the order of their first write, whatever was erased between them."""
    with closing(Store.open(path)) as store:
        put_changes(store, 1, 9)
        await store.drain()
        erased = change_of(subscription_of(ANY), 5).number
        store.put(Persist(10, [Write(CHANGE_NAMESPACE, erased, None)]))
        await store.drain()
    assert numbers_in(path) == [1, 2, 3, 4, 6, 7, 8, 9]


async def test_a_node_goes_on_where_the_last_process_ended(path: Path) -> None:
    """A founder's cluster and subscriptions, and an event it owes, are there for the next process of the peer."""
    with closing(Store.open(path)) as store:
        node = NodeCore(at(1), store.incarnation, CONFIG, Random(1), store.load(), (), CLUSTER)
        now, durable = 0, 0
        inputs: list[Input] = []
        commands: dict[int, Input] = {
            20: SubscribeCommand(1, on_topic("a"), window=0),
            30: PublishCommand(2, [Draft("a", {"price": 1.5})]),
        }
        for turn in range(40):
            inputs += [commands[turn]] if turn in commands else []
            for effect in node.step([*inputs, TimerFired()], Micros(now)):
                if isinstance(effect, Persist):
                    store.put(effect)
                    durable = effect.number
                elif isinstance(effect, SetTimer):
                    now = effect.at
                assert not isinstance(effect, Notify), "the window is closed: the event stays owed"
            await store.drain()
            inputs = [Stored(durable)]
        before = node.status()
    with closing(Store.open(path)) as store:
        disk, packs = store.load(), store.load_packs()
        after = NodeCore(at(1), store.incarnation, CONFIG, Random(1), disk, (), None, packs=packs)
        after.step([], Micros(0))
    assert set(disk) == {MEMBERSHIP_NAMESPACE, DIRECTORY_NAMESPACE, CHANGE_NAMESPACE}
    assert before.kept
    assert (after.status().kept, after.status().changes_digest) == (before.kept, before.changes_digest)
    assert after.status().incarnation == before.incarnation + 1


# Group commit


async def test_many_puts_are_few_commits(path: Path) -> None:
    """What is put while a commit is under way goes into the next one, together; all of it is reported in order."""
    told = Told()
    with closing(Store.open(path)) as store:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, told)
            put_changes(store, 1, 1)
            await wait_all_tasks_blocked()
            put_changes(store, 2, 500)
            assert store.pending >= 499
            await told.wait(500)
            nursery.cancel_scope.cancel()
        assert (store.commits, store.rows_stored) == (2, 500)
        assert told.numbers == [1, 500]
        assert store.pending == 0
        assert store.size_bytes > 500 * 40
    assert numbers_in(path) == list(range(1, 501))


async def test_a_drain_beside_the_run_is_told_too(path: Path) -> None:
    """Whoever commits, `stored` hears of it; a drain returns when everything put before it is durable."""
    told = Told()
    with closing(Store.open(path)) as store:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, told)
            await wait_all_tasks_blocked()
            for n in range(1, 6):
                put_changes(store, n, n)
                await store.drain()
                assert store.pending == 0
            await told.wait(5)
            nursery.cancel_scope.cancel()
        assert told.numbers == sorted(set(told.numbers))


async def test_a_drain_that_finds_nothing_to_do_leaves_the_run_awake(path: Path) -> None:
    """It waits for the run's commit; what is put afterwards is committed all the same."""
    told = Told()
    with closing(Store.open(path)) as store, trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, told)
            put_changes(store, 1, 1)
            await wait_all_tasks_blocked()
            await store.drain()
            await wait_all_tasks_blocked()
            put_changes(store, 2, 2)
            await told.wait(2)
            nursery.cancel_scope.cancel()


async def test_cancelling_leaves_whole_commits(path: Path) -> None:
    """A run that is cancelled in the middle of a commit ends it; a drain then writes what was put meanwhile."""
    with closing(Store.open(path)) as store:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, Told())
            put_changes(store, 1, 100)
            await wait_all_tasks_blocked()
            put_changes(store, 101, 200)
            nursery.cancel_scope.cancel()
        assert store.pending == 100
        await store.drain()
    assert numbers_in(path) == list(range(1, 201))


# Crashes


def test_a_kill_loses_nothing_that_was_called_durable(path: Path) -> None:
    """Killed in the middle of writing, a process leaves all it had reported, and of the rest whole Persists in order.

    The next process opens the same file and is a new incarnation.
    """
    for round_ in range(5):
        with process(WRITER, path) as output:
            # Between two writers we look, and looking is an incarnation too.
            assert output.readline() == f"open {2 * round_ + 1}\n"
            for _ in range(3 + 7 * round_):
                reported = int(output.readline().split()[1])
        with closing(Store.open(path)) as store:
            left = [name.n for name in names_in(store) if name.log.epoch.counter == store.incarnation - 1]
        assert left[-1] >= reported
        assert left == [left[-1] - 1, left[-1]]


def test_incarnations_count_up(path: Path) -> None:
    """Every start is a new incarnation, even after the store itself was moved away: ids of the old one live on."""
    seen = []
    for _ in range(3):
        with closing(Store.open(path)) as store:
            seen.append(store.incarnation)
    path.unlink()
    with closing(Store.open(path)) as store:
        seen.append(store.incarnation)
    assert seen == [1, 2, 3, 4]


@pytest.mark.parametrize("damage", ["", "no number", None])
def test_a_lost_count_does_not_begin_anew(path: Path, damage: str | None) -> None:
    """A store whose count is damaged or gone gives a number above all it can have given, and counts on from there."""
    count = path.with_name(path.name + ".incarnation")
    Store.open(path).close()
    count.unlink()
    if damage is not None:
        count.write_text(damage)
    with closing(Store.open(path)) as store:
        leap = store.incarnation
    with closing(Store.open(path)) as store:
        assert store.incarnation == leap + 1
    assert leap > 1_600_000_000


# A disk that takes nothing


async def test_a_full_disk_stops_acknowledging_and_loses_nothing(path: Path, autojump_clock: MockClock) -> None:
    """While nothing can be written `stored` is silent and `trouble` gives advice; erasing rows makes room again."""
    told = Told()
    with closing(Store.open(path, bytes_max=200_000)) as store:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, told)
            put_changes(store, 1, 10, size=10_000)
            await told.wait(10)
            put_changes(store, 11, 20, size=10_000)
            trouble = await trouble_of(store)
            assert trouble.startswith("disk full: ")
            assert "free some space" in trouble
            await trio.sleep(60)
            assert told.numbers[-1] == 10
            assert told.disk_states == [True]
            assert store.pending == 10
            gone = [Write(CHANGE_NAMESPACE, change_of(subscription_of(ANY), n).number, None) for n in range(1, 11)]
            store.put(Persist(21, gone))
            await told.wait(21)
            assert store.trouble is None
            assert told.disk_states == [True, False]
            nursery.cancel_scope.cancel()
    assert numbers_in(path) == list(range(11, 21))


async def test_a_disk_that_fails_and_recovers_loses_nothing(path: Path, autojump_clock: MockClock) -> None:
    """A file that cannot grow for a while, by the system's own limit, is written as soon as it can, all in order."""
    told = Told()
    old, new = (Write(MEMBERSHIP_NAMESPACE, ("cluster",), (name, epoch(1, 1))) for name in ("old", "new"))
    with closing(Store.open(path)) as store:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, told)
            put_changes(store, 1, 1)
            await told.wait(1)
            with files_limited_to(store.size_bytes):
                put_changes(store, 2, 1000, size=500)
                store.put(Persist(1001, [old]))
                await wait_all_tasks_blocked()
                # The first try is under way, and fails.
                store.put(Persist(1002, [new]))
                assert (await trouble_of(store)).startswith("disk ")
                await trio.sleep(10)
                assert told.numbers == [1]
            await told.wait(1002)
            assert store.trouble is None
            nursery.cancel_scope.cancel()
    assert numbers_in(path) == list(range(1, 1001))
    with closing(Store.open(path)) as store:
        assert store.load()[MEMBERSHIP_NAMESPACE] == {new.name: new.value}


async def test_giving_up_on_a_full_disk_keeps_what_was_put(path: Path) -> None:
    """A drain that its caller bounds ends in time, and the next one writes everything."""
    with closing(Store.open(path)) as store:
        put_changes(store, 1, 3, size=5_000)
        with files_limited_to(4096):
            with trio.move_on_after(0.1) as scope:
                await store.drain()
            assert scope.cancelled_caught
        assert store.pending == 3
        await store.drain()
        assert store.pending == 0
    assert numbers_in(path) == [1, 2, 3]


# Damage


async def test_damaged_rows_are_set_aside(path: Path) -> None:
    """A changed value, an unknown name and an unknown namespace are kept apart, counted, and block nothing."""
    with closing(Store.open(path)) as store:
        put_changes(store, 1, 5)
        await store.drain()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE row SET value = x'00' || value WHERE number = 2")
        connection.execute("UPDATE row SET namespace = 'attic' WHERE number = 3")
        connection.execute("UPDATE row SET name = NULL WHERE number = 4")
    with closing(Store.open(path)) as store:
        assert [name.n for name in names_in(store)] == [1, 5]
        assert [row.number for row in store.damaged] == [2, 3, 4]
        put_changes(store, 1, 5)
        await store.drain()
    with closing(Store.open(path)) as store:
        assert sorted(name.n for name in names_in(store)) == [1, 2, 3, 4, 5]
        assert store.damaged == ()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM damaged").fetchone() == (3,)


def rows_in(store: Store) -> set[str]:
    """The changes in a store, with their types."""
    return {repr((exact(name), exact(value))) for name, value in store.load().get(CHANGE_NAMESPACE, {}).items()}


async def test_no_flipped_bit_makes_a_wrong_row(path: Path) -> None:
    """Wherever one bit of the file flips, the store refuses, or loads true rows only and has set aside the others.

    Then it takes all of them again.
    """
    with closing(Store.open(path)) as store:
        put_changes(store, 1, 20, size=100)
        await store.drain()
        true = rows_in(store)
    good, rng = path.read_bytes(), Random(7)
    used = [place for place, byte in enumerate(good) if byte]
    refused = aside = 0
    for place in rng.sample(used, 40):
        bad = bytearray(good)
        bad[place] ^= 1 << rng.randrange(8)
        path.write_bytes(bad)
        try:
            with closing(Store.open(path)) as store:
                found = rows_in(store)
                aside += bool(store.damaged)
                assert found <= true
                assert len(found) + len(store.damaged) == len(true)
                put_changes(store, 1, 20, size=100)
                with trio.fail_after(60):
                    await store.drain()
                assert rows_in(store) == true
        except StoreError:
            refused += 1
    assert refused
    assert aside


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be taken for one" * 100, b"SQLite format 3\0"]
)
def test_a_file_that_is_no_store_is_refused(path: Path, content: bytes) -> None:
    """The error says what to do; nothing is overwritten."""
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match="move it away"):
        Store.open(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("layout", [LAYOUT - 1, LAYOUT + 1])
def test_another_layout_is_refused(path: Path, layout: int) -> None:
    """This p2psub does not touch what another one wrote, be it older or newer, and says what to do."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {layout}")
    with pytest.raises(StoreUnusable, match=f"layout {layout}, .* new data directory"):
        Store.open(path)


# Whose it is


def test_a_second_process_is_refused(path: Path) -> None:
    """Two processes never share a store, nor do two parts of one process; the count of starts is not touched."""
    with closing(Store.open(path)) as store:
        with process(WRITER, path) as output:
            assert output.readline() == "busy\n"
        with pytest.raises(StoreBusy, match="another data directory"):
            Store.open(path)
        with process(WRITER, path) as output:
            assert output.readline() == "busy\n", "the refused opener has dropped our lock"
        assert store.incarnation == 1
    with process(WRITER, path) as output:
        assert output.readline() == "open 2\n"
        with pytest.raises(StoreBusy):
            Store.open(path)


async def test_nobody_else_may_read_it(path: Path) -> None:
    """Every file of a store belongs to its owner alone, even one that was open to all before."""
    path.touch(mode=0o644)
    with closing(Store.open(path)) as store:
        put_changes(store, 1, 1)
        await store.drain()
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(["node.sqlite", "node.sqlite-wal", "node.sqlite.incarnation"], 0o600)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    """The error names the file and what to check."""
    with pytest.raises(StoreUnusable, match="check its directory"):
        Store.open(tmp_path / "nowhere" / "node.sqlite")
