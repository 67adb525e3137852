"""The overlay as all of its living peers see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import trio

from p2psub.api.pages import StatusPage
from p2psub.demo.controls import Controls
from p2psub.demo.parts import PeerStanding
from p2psub.demo.stages import LOOK_EVERY_S
from p2psub.model.ids import ClusterId
from p2psub.model.status import Role


class Overview:
    """What every peer, by name, said at about one time."""

    def __init__(self, pages: Mapping[str, StatusPage]) -> None:
        self._pages = pages

    @property
    def standings(self) -> dict[str, PeerStanding]:
        """Cluster and role of every peer that is in a cluster."""
        rings = ((name, page.ring) for name, page in self._pages.items())
        return {name: PeerStanding(ring.cluster, ring.role) for name, ring in rings if ring.cluster is not None}

    @property
    def leaders(self) -> dict[ClusterId, str]:
        """The id of each cluster's super-node."""
        rings = (page.ring for page in self._pages.values())
        return {ring.cluster: ring.id for ring in rings if ring.cluster is not None and ring.role is Role.SUPER_NODE}

    @property
    def super_nodes(self) -> int:
        """How many peers lead."""
        return sum(page.ring.role is Role.SUPER_NODE for page in self._pages.values())

    @property
    def ready(self) -> int:
        """How many may be used."""
        return sum(page.ready for page in self._pages.values())

    @property
    def clusters(self) -> int:
        """How many clusters have members."""
        return len({standing.cluster for standing in self.standings.values()})

    def is_formed(self, clusters: int) -> bool:
        """Whether all are ready, and so many clusters have one super-node each that knows of all the others."""
        cubes = [page.cube for page in self._pages.values() if page.ring.role is Role.SUPER_NODE]
        knows_all = all(len(cube.clusters) == clusters for cube in cubes)
        return self.ready == len(self._pages) and len(cubes) == len(self.leaders) == clusters and knows_all

    @property
    def is_idle(self) -> bool:
        """Whether no peer owes an event: then none can come a second time."""
        queues = [page.queues for page in self._pages.values()]
        return not any(queue.outbox or queue.undischarged for queue in queues)

    def is_settled(self, clusters: int) -> bool:
        """Whether it is formed, and idle."""
        return self.is_idle and self.is_formed(clusters)


async def look(controls: Mapping[str, Controls]) -> Overview:
    """Ask all peers at once."""
    pages: dict[str, StatusPage] = {}

    async def ask(name: str) -> None:
        pages[name] = await controls[name].status()

    async with trio.open_nursery() as nursery:
        for name in controls:
            nursery.start_soon(ask, name)
    return Overview(pages)


async def wait_settled(
    controls: Mapping[str, Controls], clusters: int, has_all: Callable[[], bool], patience_s: float
) -> Overview:
    """How the overlay is when it is formed and idle and all has arrived, or when patience has ended."""
    overview = await look(controls)
    with trio.move_on_after(patience_s):
        while not (has_all() and overview.is_settled(clusters)):
            await trio.sleep(LOOK_EVERY_S)
            overview = await look(controls)
    return overview
