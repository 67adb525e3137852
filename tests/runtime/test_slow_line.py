"""Two hosts with a slow line between them, as the kernel makes it, and more events than it carries. Root only."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import Final

import pytest
import trio

from p2psub.api.settings import NODE
from p2psub.bench.bid_load import BidLoad
from p2psub.bench.earnings import percentile
from p2psub.bench.orders import (
    BidderNotes,
    BidOrder,
    Bids,
    CubeOrder,
    EnterOrder,
    NoteOrder,
    NotesOrder,
    Offered,
    OfferOrder,
)
from p2psub.bench.workers import Worker, open_crew
from tests.runtime.hosts import Host, hosts_on_a_switch
from tests.runtime.overlays import Bootstrap
from tests.runtime.terminals import desk_in

pytestmark = pytest.mark.slow

BODY_BYTES: Final = 10_000
OFFERED: Final = 25.0
"""Events a second: twice what a line of 1 Mbit carries."""
PHASE_S: Final = 14.0
UNIT_US: Final = 8_000
"""What 1,000 bytes take at 1 Mbit a second."""

FOLLOWS_NS: Final = 10 * 10**9
HEARTBEAT_US_MAX: Final = 300_000


async def enter(peer: Worker, directory: Path, host: Host, bootstrap: Bootstrap, token: str) -> None:
    """Be a cluster of its own on a host."""
    listen = f"{host.address}:7401"
    order = EnterOrder(str(directory / peer.name), peer.name, bootstrap.address, token, peer.name, False, listen)
    await peer.tell(order)


def pace_at(paces: list[tuple[int, float]], at_ns: int) -> float:
    """What a queue took the line for at an instant."""
    return [pace for since_ns, pace in paces if since_ns <= at_ns][-1]


async def test_a_queue_knows_how_fast_its_line_is(tmp_path: Path) -> None:
    """From what drained alone; heartbeats pass by the events, and when the line is halved the queue notices.

    The buffer of the line takes a second, so whoever does not hold back what is under way fills it.
    """
    if shutil.which("tc") is None:
        pytest.skip("there is no `tc` command: install iproute2")
    with hosts_on_a_switch(2) as hosts, desk_in(tmp_path, hosts[0].machine) as desk:
        try:
            for host in hosts:
                host.slow_down("1mbit")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"token buckets do not work here: {' '.join(error.cmd)}: {error.stderr.strip()}")
        bootstrap = Bootstrap(desk, f"{hosts[0].address}:7400")
        token = bootstrap.token()
        async with open_crew(tmp_path) as crew:
            peers: list[Worker] = []
            for name, host in zip(("sender", "receiver"), hosts, strict=True):
                peers.append(await crew.hire(name, "p2psub.bench.bidder", host.machine))
                await enter(peers[-1], tmp_path, host, bootstrap, token)
            for peer in peers:
                await peer.tell(CubeOrder(2))
            sender, receiver = peers
            load = BidLoad(0, OFFERED, 2 * PHASE_S, 64, BODY_BYTES)
            await receiver.ask(BidOrder(load, tuple(range(64))), Bids)
            for peer in peers:
                await peer.tell(NoteOrder())
            async with trio.open_nursery() as nursery:
                nursery.start_soon(sender.ask, OfferOrder(load), Offered)
                # For the time itself: the line is full meanwhile.
                await trio.sleep(PHASE_S)
                halved_ns = time.monotonic_ns()
                hosts[0].slow_down("500kbit")
            sent, heard = [await peer.ask(NotesOrder(), BidderNotes) for peer in peers]
            ids = [(await peer.look()).id for peer in peers]
    line, far = sent.links[ids[1]], heard.links[ids[0]]
    assert pace_at(line.paces, halved_ns) == pytest.approx(UNIT_US, rel=0.2)
    assert pace_at(line.paces, halved_ns + FOLLOWS_NS) == pytest.approx(2 * UNIT_US, rel=0.2)
    beats_us = [beat_us + heard.clock_off_us - sent.clock_off_us for beat_us in far.beats_us]
    assert len(beats_us) >= PHASE_S
    assert percentile(beats_us, 99) < HEARTBEAT_US_MAX
    # A peer that is heard so often is not even suspected.
    assert max(line.silence_us_max, far.silence_us_max) < NODE.liveness.suspect_after_ticks * NODE.tick_us
