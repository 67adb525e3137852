"""A process that appends packs to a store as fast as it can, and tells on its output which are durable.

    python -m tests.unit.runtime.pack_process FILE

Persist number n appends the pack that follows all others, with its own number in head and body, and from the third on
erases the pack two before it. It says "stored PACK" until it is killed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import trio

from p2psub.model.effects import FromDisk, Pack, Persist, Stored
from p2psub.runtime.store import Store
from tests.unit.runtime.told import PLAIN_PACKS

BODY_BYTES = 20_000


def pack_of(number: int) -> Pack:
    """The pack with that number."""
    return Pack(number, ["head", number], ["body", number, "x" * BODY_BYTES])


async def append_for_ever(store: Store) -> None:
    """Put a Persist on every turn of the loop."""
    first = store.load_packs().last

    def tell(said: FromDisk) -> None:
        assert isinstance(said, Stored)
        sys.stdout.write(f"stored {first + said.number}\n")
        sys.stdout.flush()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.run, tell)
        number = 0
        while True:
            number += 1
            erased = [first + number - 2] if number > 2 else []
            store.put(Persist(number, [], [pack_of(first + number)], erased))
            await trio.sleep(0.0002)


if __name__ == "__main__":
    trio.run(append_for_ever, Store.open(Path(sys.argv[1]), codec=PLAIN_PACKS))
