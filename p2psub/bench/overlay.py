"""An overlay to measure: a bootstrap in this process, and peers in processes of their own that form one ring."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import trio

from bootstrap.authority import Authority
from bootstrap.service import Service, ServiceConfig
from p2psub.bench.orders import EnterOrder, GatherOrder
from p2psub.bench.slow_line import SlowAccess
from p2psub.bench.workers import Crew, Worker
from p2psub.config import Discipline
from p2psub.model.ids import NodeId, Place
from p2psub.model.rights import Rights

CLUSTER: Final = "bench"
TOKEN_S: Final = 3600


class BenchOverlay:
    """Peers of one cluster; or peers that are a cluster each."""

    def __init__(self, directory: Path, crew: Crew, bootstrap: str, token: str, traces: bool) -> None:
        self._directory = directory
        self._crew = crew
        self._bootstrap = bootstrap
        self._token = token
        self._traces = traces
        self.peers: list[Worker] = []
        self._ids: dict[str, NodeId] = {}

    def data_of(self, peer: Worker) -> Path:
        """Where a peer keeps its certificate and all else."""
        return self._directory / peer.name

    async def add(self, *names: str) -> list[Worker]:
        """Start peers; returns when all peers there are know each other as the owners of the ring."""
        added = [await self._crew.hire(name, "p2psub.bench.peer") for name in names]
        self.peers += added
        async with trio.open_nursery() as nursery:
            for peer in added:
                nursery.start_soon(peer.tell, self._entry(peer))
        ids = {peer.name: (await peer.look()).id for peer in self.peers}
        self._ids = {name: _id_of(id_) for name, id_ in ids.items()}
        async with trio.open_nursery() as nursery:
            for peer in self.peers:
                nursery.start_soon(peer.tell, GatherOrder(tuple(ids.values())))
        return added

    async def add_cluster(self, name: str, module: str, access: SlowAccess, discipline: Discipline) -> Worker:
        """Start a peer that is a cluster of its own, and that others reach over slow lines."""
        peer = await self._crew.hire(name, module)
        entry = EnterOrder(
            str(self.data_of(peer)),
            name,
            self._bootstrap,
            self._token,
            name,
            self._traces,
            access.inner,
            access.address,
            discipline,
        )
        await peer.tell(entry)
        self.peers.append(peer)
        self._ids[name] = _id_of((await peer.look()).id)
        return peer

    def _entry(self, peer: Worker) -> EnterOrder:
        return EnterOrder(str(self.data_of(peer)), peer.name, self._bootstrap, self._token, CLUSTER, self._traces)

    def ids_of(self, peers: Sequence[Worker]) -> list[NodeId]:
        """Who these are in the overlay."""
        return [self._ids[peer.name] for peer in peers]


def _id_of(text: str) -> NodeId:
    return NodeId(Place(bytes.fromhex(text)))


@asynccontextmanager
async def open_overlay(directory: Path, crew: Crew, traces: bool) -> AsyncIterator[BenchOverlay]:
    """An overlay without peers, while the block runs."""
    data = directory / "bootstrap"
    authority = Authority.load_or_create(data, "bench")
    try:
        async with trio.open_nursery() as nursery:
            me = await nursery.start(Service(ServiceConfig(data, "bench", "127.0.0.1:0"), authority, is_new=True).run)
            token = authority.tokens.new(Rights(), True, TOKEN_S, time.time(), "bench")
            yield BenchOverlay(directory, crew, me.address, token, traces)
            nursery.cancel_scope.cancel()
    finally:
        authority.close()
