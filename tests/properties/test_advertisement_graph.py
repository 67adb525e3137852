"""The graph of advertisements and what filters demand of it, against brute force over all pairs and over witnesses."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.admission.advertisement_graph import AdvertisementGraph
from p2psub.admission.demand import demand_of, paper_demand_of
from p2psub.matching.covering import covers, is_contradiction, meets
from p2psub.model.content import Event, Filter, Value
from p2psub.model.ids import EventId, SubscriptionId
from p2psub.model.rates import Demand, millionths_of
from tests.oracles.linear import matches
from tests.properties.test_covering import ANY, conjunctions
from tests.properties.test_forest import filter_of
from tests.unit.bench import node_at

Held = dict[SubscriptionId, tuple[Filter, int]]
"""Filters and rates of advertisements, in millionths."""
Ids = frozenset[SubscriptionId]
Standing = tuple[int, int, frozenset[Ids], frozenset[Ids]]
"""Rate, count, parents and children of the filter that these advertisements have."""

FILTERS = st.one_of(
    st.builds(filter_of, st.randoms(use_true_random=False)),
    st.lists(conjunctions(ANY, 2), min_size=1, max_size=2).map(lambda drawn: Filter(tuple(drawn))),
)
RATES = st.sampled_from([1.0, 0.1, 2.5, 1e-9, 1e9])
IDS = st.builds(SubscriptionId, st.sampled_from([node_at(1), node_at(2), node_at(3)]), st.just(1), st.integers(0, 9))
STEPS = st.lists(st.tuples(IDS, st.one_of(st.none(), FILTERS), RATES), max_size=25)


def event_of(random: Random) -> Event:
    """An event that filters such as the above often take."""
    names = random.sample(["a", "b"], random.randrange(3))
    values: list[Value] = [0, 1, 2, 3, 4, 1.5, "a", "ab", "abc", "aba"]
    attributes = {name: random.choice(values) for name in names}
    return Event(EventId(node_at(1), 1, 1), random.choice(["", "a", "ab", "abc", "b"]), attributes)


def walked(steps: Sequence[tuple[SubscriptionId, Filter | None, float]]) -> tuple[AdvertisementGraph, Held]:
    """The graph after these advertisements and withdrawals, and what it should hold."""
    graph, held = AdvertisementGraph(), Held()
    for id_, offered, rate in steps:
        held.pop(id_, None)
        if offered is None:
            graph.withdraw(id_)
        else:
            graph.advertise(id_, offered, rate)
            if not is_contradiction(offered):
                held[id_] = offered, millionths_of(rate)
    return graph, held


def picture_of(graph: AdvertisementGraph) -> dict[Ids, Standing]:
    """What stands in a graph."""
    return {
        frozenset(one.rates): (
            one.rate,
            one.count,
            frozenset(frozenset(parent.rates) for parent in one.parents),
            frozenset(frozenset(child.rates) for child in one.children),
        )
        for one in graph
    }


def expected_of(held: Held) -> dict[Ids, Standing]:
    """The same from all pairs: filters that cover each other are one, and the order of these, transitively reduced."""
    below = {one: {other for other in held if covers(held[one][0], held[other][0])} for one in held}
    classes = {one: frozenset(other for other in below[one] if one in below[other]) for one in held}
    strictly = {classes[one]: {classes[other] for other in below[one]} - {classes[one]} for one in held}
    direct = {one: lower - {far for other in lower for far in strictly[other]} for one, lower in strictly.items()}
    return {
        classes[one]: (
            sum(held[other][1] for other in below[one]),
            len(below[one]),
            frozenset(upper for upper, lower in direct.items() if classes[one] in lower),
            frozenset(direct[classes[one]]),
        )
        for one in held
    }


def rate_of(held: Held, ids: list[SubscriptionId]) -> int:
    """What some advertisements add up to."""
    return sum(held[id_][1] for id_ in ids)


@settings(max_examples=300)
@given(STEPS)
def test_the_graph_is_what_all_pairs_say(steps: list[tuple[SubscriptionId, Filter | None, float]]) -> None:
    """Sums over all that is covered, and direct covering, after any sequence, and whatever it was."""
    graph, held = walked(steps)
    assert len(graph) == len(held)
    assert picture_of(graph) == expected_of(held)


@settings(max_examples=200)
@given(STEPS, FILTERS)
def test_a_demand_is_what_all_pairs_say(
    steps: list[tuple[SubscriptionId, Filter | None, float]], wanted: Filter
) -> None:
    """No advertisement is passed over for its topics."""
    graph, held = walked(steps)
    covered = [id_ for id_, (offered, _) in held.items() if covers(wanted, offered)]
    met = [id_ for id_, (offered, _) in held.items() if meets(wanted, offered)]
    publishers = [len({id_.node for id_ in ids}) for ids in (covered, met)]
    assert demand_of(wanted, graph) == Demand(rate_of(held, covered), rate_of(held, met), *publishers)


@settings(max_examples=200)
@given(STEPS, FILTERS)
def test_the_paper_s_reading_is_formula_1(
    steps: list[tuple[SubscriptionId, Filter | None, float]], wanted: Filter
) -> None:
    """The most that any covered filter adds up to, and the least that any covering one does."""
    graph, held = walked(steps)
    if is_contradiction(wanted):
        assert paper_demand_of(wanted, graph) == Demand(0, 0, 0, 0)
        return
    sums = expected_of(held)
    below = [sums[ids][:2] for ids in sums if covers(wanted, held[min(ids)][0])]
    above = [sums[ids][:2] for ids in sums if covers(held[min(ids)][0], wanted)] or [
        (rate_of(held, [*held]), len(held))
    ]
    least = [max((one[place] for one in below), default=0) for place in (0, 1)]
    most = [min(one[place] for one in above) for place in (0, 1)]
    assert paper_demand_of(wanted, graph) == Demand(least[0], most[0], least[1], most[1])


@settings(max_examples=200)
@given(st.lists(st.tuples(IDS, FILTERS, RATES), min_size=5, max_size=25), FILTERS, st.randoms(use_true_random=False))
def test_the_peak_lies_within_the_demand(
    steps: list[tuple[SubscriptionId, Filter, float]], wanted: Filter, random: Random
) -> None:
    """The peak is there when each advertisement is used up for events that the filter takes, if it allows some."""
    witnesses = [event_of(random) for _ in range(40)]
    allowed = {id_: [event for event in witnesses if matches(offered, event)] for id_, offered, _ in steps}
    graph, held = walked([step for step in steps if allowed[step[0]]])
    peak = [id_ for id_ in held if any(matches(wanted, event) for event in allowed[id_])]
    demand = demand_of(wanted, graph)
    assert demand.rate_min <= rate_of(held, peak) <= demand.rate_max
    assert demand.publishers_min <= len({id_.node for id_ in peak}) <= demand.publishers_max
