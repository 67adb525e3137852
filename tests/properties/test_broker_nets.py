"""Admission's experiment on random workloads: ways are ways, events are counted, and nothing is promised twice."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.admission.criteria import read_criterion
from p2psub.model.instants import SECOND_US
from sims.experiments.admission.brokers import BROKERS, BrokerResource, Topology, drawn_net
from sims.experiments.admission.gate import DemandChoice, ShareOf, gate_of
from sims.experiments.admission.run import AdmissionRun
from sims.experiments.admission.workload import AdvertisementLife, Says, WorkloadPlan, drawn_workload

SEEDS = st.integers(0, 2**32)
TOPOLOGIES = st.sampled_from(Topology)
SECONDS = 12.0


@settings(max_examples=25, deadline=None)
@given(SEEDS, TOPOLOGIES)
def test_ways_lead_over_links_and_back_the_same_way(seed: int, topology: Topology) -> None:
    """From each broker to each, by links that there are; a spread takes every broker and a tree towards its root."""
    net = drawn_net(np.random.default_rng(seed), topology)
    for source, target in np.random.default_rng(seed).integers(BROKERS, size=(20, 2)).tolist():
        way = net.way(source, target)
        assert len(set(way)) == len(way)
        assert set(way) <= set(net.capacities)
        brokers = [one.broker for one in way if one.broker == one.towards]
        assert (brokers[0], brokers[-1]) == (target, source)
        links = [(one.broker, one.towards) for one in way if one.broker != one.towards]
        assert links == [(upper, lower) for lower, upper in pairwise(brokers)]
        back = [one.broker for one in net.way(target, source) if one.broker == one.towards]
        assert back == brokers[::-1]
        assert set(way) <= set(net.spread(target))
    spread = net.spread(0)
    assert len(spread) == len(set(spread)) == 2 * BROKERS - 1
    assert {one.broker for one in spread} == set(range(BROKERS))


@settings(max_examples=25, deadline=None)
@given(
    SEEDS,
    TOPOLOGIES,
    st.sampled_from(["none", "full", "percent:30"]),
    st.sampled_from(DemandChoice),
    st.sampled_from(Says),
    st.booleans(),
)
def test_a_run_keeps_its_books(
    seed: int, topology: Topology, criterion: str, demand: DemandChoice, says: Says, is_fixed: bool
) -> None:
    """No server is busy for longer than the run, and `full` reserves no more than there is where nothing changes."""
    net = drawn_net(np.random.default_rng(seed), topology)
    advertisements = AdvertisementLife.FIXED if is_fixed else AdvertisementLife.CHANGING
    workload = drawn_workload(seed, BROKERS, WorkloadPlan(40, SECONDS, 0.1, says, advertisements))
    gate = gate_of(read_criterion(criterion), demand, ShareOf.ASKED, net, workload, is_voting_on_advertisements=True)
    tally = AdmissionRun(net, workload, gate, SECONDS, says, advertisements).run()
    assert set(tally.busy_us) == set(net.capacities)
    assert all(0 <= busy_us <= SECONDS * SECOND_US for busy_us in tally.busy_us.values())
    assert gate.subscriptions.admitted <= gate.subscriptions.asked == len(workload.wishes)
    assert tally.processed <= tally.published * BROKERS
    reserved = gate._ledger.reserved()
    if criterion == "full" and demand is not DemandChoice.PAPER:
        assert all(amount <= net.capacities[resource] for resource, amount in reserved.items())
        assert tally.discarded == 0
    if criterion == "none":
        assert reserved == {}
        homes = {BrokerResource(home, home) for home in workload.publishers}
        assert all(tally.busy_us[home] for home in homes)
