"""How the overlay of a run comes into being: processes start, enrol, and find together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import trio

from p2psub.demo.controls import Controls
from p2psub.demo.fleet import Fleet, Seat
from p2psub.demo.overview import Overview, look
from p2psub.demo.process import FleetProcess
from p2psub.demo.stages import LOOK_EVERY_S, Stages, patient


async def start_all(
    seats: Sequence[Seat], fleet: Fleet, stages: Stages, processes: trio.Nursery, patience_s: float
) -> FleetProcess:
    """Start the bootstrap, then all peers at once; returns the bootstrap when all have said a word."""
    bootstrap = fleet.bootstrap()
    with (
        stages.stage("starting", len(seats) + 1),
        patient(patience_s, lambda: f"not started: {_silent([bootstrap, *fleet.peers.values()])}"),
    ):
        await processes.start(bootstrap.run)
        await stages.wait_all([bootstrap.spoken.wait])
        assert bootstrap.status is not None
        token = await fleet.token()
        for seat in seats:
            await processes.start(fleet.peer(seat, bootstrap.status.address, token).run)
        await stages.wait_all([peer.spoken.wait for peer in fleet.peers.values()], already=1)
    return bootstrap


async def form(
    clusters: int, fleet: Fleet, controls: Mapping[str, Controls], stages: Stages, patience_s: float
) -> Overview:
    """Return how the overlay is once all peers are ready and so many clusters know each other."""
    peers = fleet.peers.values()
    with (
        stages.stage("forming", len(peers)),
        patient(patience_s, lambda: f"the overlay has not formed: {_unready(peers)}"),
    ):
        await stages.wait_all([peer.readied.wait for peer in peers])
        while not (overview := await look(controls)).is_formed(clusters):
            await trio.sleep(LOOK_EVERY_S)
    return overview


def _silent(processes: Iterable[FleetProcess]) -> str:
    return ", ".join(process.name for process in processes if process.status is None)


def _unready(peers: Iterable[FleetProcess]) -> str:
    waiting = [f"{peer.name} is {peer.state}" for peer in peers if not peer.is_ready]
    return ", ".join(waiting) or "the clusters do not all know each other"
