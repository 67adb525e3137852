"""A process that opens a store as a peer does, and says what that cost: `python -m p2psub.bench.store_opener FILE`."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path

import msgspec

from p2psub.bench.memory import peak_rss_bytes
from p2psub.bench.pack_load import CODEC
from p2psub.runtime.gc_tuning import tune_gc
from p2psub.runtime.store import Store


class StoreOpening(msgspec.Struct, frozen=True):
    """Time, peak memory of the whole process, and how many packs were found."""

    seconds: float
    rss_mb: float
    packs: int


def open_store(path: Path) -> StoreOpening:
    """Open it, and load what a start loads."""
    began_s = time.perf_counter()
    with closing(Store.open(path, codec=CODEC)) as store:
        disk, packs = store.load(), store.load_packs()
        seconds = time.perf_counter() - began_s
        rss_mb = round(peak_rss_bytes() / 1e6, 1)
        assert not disk
        return StoreOpening(round(seconds, 3), rss_mb, len(packs.heads))


if __name__ == "__main__":
    tune_gc()
    sys.stdout.buffer.write(msgspec.json.encode(open_store(Path(sys.argv[1]))))
