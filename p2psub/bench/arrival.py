"""Waiting for what was published to come."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from p2psub.bench.workers import Worker
from p2psub.demo.stages import LOOK_EVERY_S


async def wait_for_arrival(peers: Sequence[Worker], wanted: int, silence_s: float) -> float:
    """Return when the peers have consumed so many events, or nothing has come for so long; when the last one came."""
    began_s, came, last_s = trio.current_time(), -1, 0.0
    with trio.CancelScope() as patience:
        while came < wanted:
            now = sum([(await peer.look()).followed for peer in peers])
            if now > came:
                came, last_s = now, trio.current_time() - began_s
                patience.deadline = trio.current_time() + silence_s
            await trio.sleep(LOOK_EVERY_S)
    return last_s


async def wait_for_discharge(peers: Sequence[Worker]) -> None:
    """Return when no peer owes anything to anybody."""
    while any([(await peer.look()).owed for peer in peers]):
        await trio.sleep(LOOK_EVERY_S)
