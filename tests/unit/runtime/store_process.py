"""A process that writes to a store as fast as it can, and tells on its output what it was told is durable.

    python -m tests.unit.runtime.store_process FILE

It begins with a line "open INCARNATION", or with "busy"; then it says "stored NUMBER" until it is killed. Persist
number n puts the change n of a stream of this incarnation and, from the third on, erases the change n - 2.
"""

from __future__ import annotations

import sys
from pathlib import Path

import trio

from p2psub.model.effects import FromDisk, Persist, Stored, Write
from p2psub.runtime.store import Store
from p2psub.runtime.store_file import StoreBusy
from p2psub.super_node.change_set import CHANGE_NAMESPACE
from tests.unit.bench import ANY, change_of, epoch, subscription_of


def persist_of(incarnation: int, number: int) -> Persist:
    """The Persist with that number."""
    change = change_of(subscription_of(ANY, number), number, epoch(incarnation, 1))
    writes = [Write(CHANGE_NAMESPACE, change.number, change)]
    if number > 2:
        writes.append(Write(CHANGE_NAMESPACE, change.number._replace(n=number - 2), None))
    return Persist(number, writes)


async def write_for_ever(store: Store) -> None:
    """Put a Persist on every turn of the loop."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.run, tell)
        number = 0
        while True:
            number += 1
            store.put(persist_of(store.incarnation, number))
            await trio.sleep(0.0002)


def tell(said: FromDisk) -> None:
    """Say what is durable."""
    assert isinstance(said, Stored)
    say(f"stored {said.number}")


def say(line: str) -> None:
    """Tell whoever started the process."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        opened = Store.open(Path(sys.argv[1]))
    except StoreBusy:
        say("busy")
    else:
        say(f"open {opened.incarnation}")
        trio.run(write_for_ever, opened)
