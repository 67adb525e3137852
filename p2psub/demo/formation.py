"""How the overlay of a run comes into being: processes start, enrol, and find together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import trio

from p2psub.demo.controls import Controls
from p2psub.demo.fleet import Fleet
from p2psub.demo.overview import Overview, look
from p2psub.demo.plan import DemoPlan
from p2psub.demo.process import DemoProcess
from p2psub.demo.stages import LOOK_EVERY_S, Stages, patient


async def start_all(plan: DemoPlan, fleet: Fleet, stages: Stages, processes: trio.Nursery) -> DemoProcess:
    """Start the bootstrap, then all peers at once; returns the bootstrap when all have said a word."""
    bootstrap = fleet.bootstrap()
    with (
        stages.stage("starting", plan.peers + 1),
        patient(plan.patience_s, lambda: f"not started: {_silent([bootstrap, *fleet.peers.values()])}"),
    ):
        await processes.start(bootstrap.run)
        await stages.wait_all([bootstrap.spoken.wait])
        assert bootstrap.status is not None
        token = await fleet.token()
        for number in range(plan.peers):
            name, cluster = f"peer-{number:02d}", f"cluster-{number % plan.clusters}"
            await processes.start(fleet.peer(name, cluster, bootstrap.status.address, token).run)
        await stages.wait_all([peer.spoken.wait for peer in fleet.peers.values()], already=1)
    return bootstrap


async def form(plan: DemoPlan, fleet: Fleet, controls: Mapping[str, Controls], stages: Stages) -> Overview:
    """Return how the overlay is once all peers are ready and all clusters know each other."""
    peers = fleet.peers.values()
    with (
        stages.stage("forming", plan.peers),
        patient(plan.patience_s, lambda: f"the overlay has not formed: {_unready(peers)}"),
    ):
        await stages.wait_all([peer.readied.wait for peer in peers])
        while not (overview := await look(controls)).is_formed(plan.clusters):
            await trio.sleep(LOOK_EVERY_S)
    return overview


def _silent(processes: Iterable[DemoProcess]) -> str:
    return ", ".join(process.name for process in processes if process.status is None)


def _unready(peers: Iterable[DemoProcess]) -> str:
    waiting = [f"{peer.name} is {peer.state}" for peer in peers if not peer.is_ready]
    return ", ".join(waiting) or "the clusters do not all know each other"
