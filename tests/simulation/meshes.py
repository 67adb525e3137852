"""Small meshes for the tests of MTEP's experiment, and what is sent over them."""

from __future__ import annotations

import numpy as np

from p2psub.model.bids import PRICE_ONE, Bid
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.stakes import LinkEstimate
from p2psub.queueing.link_queue import LinkQueue
from sims.experiments.mtep.mesh import Mesh, MeshLink
from sims.experiments.mtep.paths import shortest_ways
from sims.experiments.mtep.run import MeshRun, Tally
from sims.experiments.mtep.workload import MeshDemand, MeshEvent, MeshSubscription, MeshTraffic

ONE_LINK = Mesh((1, 1), (MeshLink(0, 0, 1, 60_000, 20_000),))
"""50 KB take three seconds, with a deviation of one."""


def bid(deadline_s: float, price: int = 1, penalty: int = 0) -> Bid:
    """Deadline in seconds, price and penalty in whole ones."""
    return Bid(int(deadline_s * SECOND_US), price * PRICE_ONE, penalty * PRICE_ONE)


def demand_of(*bids: Bid, edges: tuple[int, ...] = ()) -> MeshDemand:
    """Subscriptions at the edge brokers given, else all at the first."""
    subscriptions = tuple(MeshSubscription(edge, one) for edge, one in zip(edges or [0] * len(bids), bids, strict=True))
    return MeshDemand(subscriptions, np.zeros((len(bids), 4)))


def event(at_s: float, *matched: int, rank: int = 1, publisher: int = 0) -> MeshEvent:
    """Published at this second, for these subscriptions."""
    return MeshEvent(publisher, Micros(int(at_s * SECOND_US)), rank, matched)


def run(
    mesh: Mesh,
    demand: MeshDemand,
    policy: str,
    *events: MeshEvent,
    is_dropping: bool = True,
    is_one_link_at_a_time: bool = False,
) -> Tally:
    """All policies' run, where every transmission takes what it takes on average."""
    traffic = MeshTraffic(events, np.zeros((len(events), len(mesh.links)), np.float32))

    def queue_of(link: MeshLink) -> LinkQueue:  # type: ignore[type-arg]
        return LinkQueue(policy, LinkEstimate(link.mean_us_per_kb, link.deviation_us_per_kb), is_dropping=is_dropping)

    return MeshRun(
        mesh, demand, traffic, shortest_ways(mesh), queue_of, is_one_link_at_a_time=is_one_link_at_a_time
    ).run()
