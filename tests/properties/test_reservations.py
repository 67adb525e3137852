"""What is reserved is a function of subscriptions and advertisements: kept step by step it equals a recomputation."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.admission.advertisement_graph import AdvertisementGraph
from p2psub.admission.demand import demand_of, paper_demand_of
from p2psub.admission.ledger import Ledger
from p2psub.admission.reservations import Reservations
from p2psub.matching.covering import is_contradiction, meets
from p2psub.model.content import Filter
from p2psub.model.ids import SubscriptionId
from p2psub.model.rates import millionths_of
from tests.properties.test_advertisement_graph import FILTERS, RATES
from tests.unit.admission.reserved import LINE, READINGS, reservations_of, spread, way
from tests.unit.bench import node_at

Subscriptions = dict[SubscriptionId, Filter]
Advertisements = dict[SubscriptionId, tuple[Filter, float]]
Step = tuple[str, SubscriptionId, Filter, float]

# Subscriptions and advertisements are numbered in one line, so none has the name of another.
NODES = st.sampled_from([node_at(place) for place in range(1, len(LINE) + 1)])
VERBS = {"subscribe": 0, "unsubscribe": 0, "advertise": 10, "withdraw": 10}
STEPS = st.lists(
    st.sampled_from(list(VERBS)).flatmap(
        lambda verb: st.tuples(
            st.just(verb),
            st.builds(SubscriptionId, NODES, st.just(1), st.integers(VERBS[verb], VERBS[verb] + 2)),
            FILTERS,
            RATES,
        )
    ),
    max_size=30,
)


def take(step: Step, reservations: Reservations[str], wanted: Subscriptions, offered: Advertisements) -> None:
    """Let reservations take a step, and note what stands after it."""
    verb, id_, filter_, rate = step
    match verb:
        case "subscribe":
            wanted[id_] = filter_
            reservations.subscribe(id_, filter_)
        case "unsubscribe":
            wanted.pop(id_, None)
            reservations.unsubscribe(id_)
        case "advertise":
            offered[id_] = filter_, rate
            reservations.advertise(id_, filter_, rate)
        case _:
            offered.pop(id_, None)
            reservations.withdraw(id_)


def expected(reading: str, wanted: Subscriptions, offered: Advertisements) -> dict[str, int]:
    """The same from all pairs."""
    paid: dict[tuple[str, object], int] = {}
    if reading == "paper":
        graph = graph_of(offered)
        for id_, filter_ in wanted.items():
            paid |= dict.fromkeys(((r, id_) for r in spread(id_.node)), paper_demand_of(filter_, graph).rate_max)
    else:
        for offer, (filter_, rate) in offered.items():
            if not is_contradiction(filter_):
                takers = [offer, *(id_ for id_ in wanted if meets(wanted[id_], filter_))]
                for id_ in takers:
                    payer: object = offer if reading == "shared" else (offer, id_)
                    paid |= dict.fromkeys(((r, payer) for r in way(offer.node, id_.node)), millionths_of(rate))
    return summed(paid.items())


def summed(paid: Iterable[tuple[tuple[str, object], int]]) -> dict[str, int]:
    """By resource, those above nothing."""
    found: dict[str, int] = {}
    for (resource, _), amount in paid:
        found[resource] = found.get(resource, 0) + amount
    return {resource: amount for resource, amount in found.items() if amount}


def reserved(ledger: Ledger[str]) -> dict[str, int]:
    """What is reserved above nothing: a demand may be for nothing."""
    return {resource: amount for resource, amount in ledger.reserved().items() if amount}


def graph_of(offered: Advertisements) -> AdvertisementGraph:
    """The graph of these advertisements."""
    graph = AdvertisementGraph()
    for id_, (filter_, rate) in offered.items():
        graph.advertise(id_, filter_, rate)
    return graph


@pytest.mark.parametrize("reading", READINGS)
@settings(max_examples=120, deadline=None)
@given(steps=STEPS, order=st.randoms(use_true_random=False))
def test_step_by_step_is_what_a_recomputation_says(reading: str, steps: list[Step], order: object) -> None:
    """After every step; in whatever order what stands is entered anew; and nothing is left when all are gone."""
    ledger: Ledger[str] = Ledger({})
    reservations, wanted, offered = reservations_of(reading, ledger), Subscriptions(), Advertisements()
    for step in steps:
        take(step, reservations, wanted, offered)
        assert reserved(ledger) == expected(reading, wanted, offered)
    standing: list[Step] = [("subscribe", id_, filter_, 0.0) for id_, filter_ in wanted.items()]
    standing += [("advertise", id_, *offer) for id_, offer in offered.items()]
    order.shuffle(standing)  # type: ignore[attr-defined]
    anew: Ledger[str] = Ledger({})
    other = reservations_of(reading, anew)
    for step in standing:
        take(step, other, {}, {})
    assert anew.reserved() == ledger.reserved()
    for verb, id_, filter_, rate in standing:
        gone = "unsubscribe" if verb == "subscribe" else "withdraw"
        take((gone, id_, filter_, rate), reservations, wanted, offered)
    assert ledger.reserved() == {}


@pytest.mark.parametrize("reading", READINGS)
@settings(max_examples=80, deadline=None)
@given(steps=STEPS, last=STEPS.filter(bool))
def test_what_is_asked_for_is_what_is_entered(reading: str, steps: list[Step], last: list[Step]) -> None:
    """A subscription that stands reserves what it would have been refused for, and takes it along when it goes."""
    ledger: Ledger[str] = Ledger(dict.fromkeys([*LINE, *(a + b for a in LINE for b in LINE)], 0))
    reservations, wanted, offered = reservations_of(reading, ledger), Subscriptions(), Advertisements()
    for step in steps:
        take(step, reservations, wanted, offered)
    id_, filter_ = SubscriptionId(node_at(3), 1, 99), last[0][2]
    before = ledger.reserved()
    needed = {
        one.resource: one.needed
        for one in ledger.would_exceed(reservations.charges_of_subscription(id_, filter_))
        if one.needed
    }
    reservations.subscribe(id_, filter_)
    after = reserved(ledger)
    grown = {resource: amount - before.get(resource, 0) for resource, amount in after.items()}
    assert {resource: more for resource, more in grown.items() if more} == needed
    reservations.unsubscribe(id_)
    assert ledger.reserved() == before


@settings(max_examples=120, deadline=None)
@given(steps=STEPS, wanted=FILTERS)
def test_alone_a_subscription_pays_its_demand_at_its_own_node(steps: list[Step], wanted: Filter) -> None:
    """By either reading: at most the rate that its verdict states."""
    offered = {id_: (filter_, rate) for verb, id_, filter_, rate in steps if verb == "advertise" and id_.node[0] != 3}
    for reading in ("shared", "route"):
        ledger: Ledger[str] = Ledger({})
        reservations = reservations_of(reading, ledger)
        reservations.subscribe(SubscriptionId(node_at(3), 1, 1), wanted)
        for id_, offer in offered.items():
            reservations.advertise(id_, *offer)
        assert ledger.reserved().get("c", 0) == demand_of(wanted, graph_of(offered)).rate_max
