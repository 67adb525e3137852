"""A graph of advertisements that are written as text, and what stands at each filter."""

from __future__ import annotations

from p2psub.admission.advertisement_graph import AdvertisedFilter, AdvertisementGraph
from p2psub.admission.demand import demand_of, paper_demand_of
from p2psub.matching.language import parse_filter
from p2psub.model.ids import SubscriptionId
from p2psub.model.rates import RATE_ONE, Demand
from tests.unit.bench import node_at


def offer(number: int, publisher: int | None = None) -> SubscriptionId:
    """The name of an advertisement; of a publisher of its own, if none is said."""
    return SubscriptionId(node_at(number if publisher is None else publisher), 1, number)


def events_per_s(rate_min: int, rate_max: int, publishers_min: int, publishers_max: int) -> Demand:
    """A demand in whole events per second."""
    return Demand(rate_min * RATE_ONE, rate_max * RATE_ONE, publishers_min, publishers_max)


class Offers:
    """Advertisements of one graph, numbered as they come."""

    def __init__(self, rates: dict[str, int]) -> None:
        self.graph = AdvertisementGraph()
        self._texts: dict[SubscriptionId, str] = {}
        for text, rate in rates.items():
            self.advertise(text, rate)

    def advertise(self, text: str, rate: float, publisher: int | None = None) -> SubscriptionId:
        """One more."""
        id_ = offer(len(self._texts), publisher)
        self._texts[id_] = text
        self.graph.advertise(id_, parse_filter(text), rate)
        return id_

    def withdraw(self, text: str) -> None:
        """The first with that filter."""
        id_ = next(id_ for id_, known in self._texts.items() if known == text)
        del self._texts[id_]
        self.graph.withdraw(id_)

    def printed(self) -> dict[str, tuple[float, int]]:
        """At each filter rate, in events per second, and count, as figures print them."""
        return {self._text_of(one): (one.rate / RATE_ONE, one.count) for one in self.graph}

    def children(self) -> dict[str, set[str]]:
        """What each filter covers directly."""
        return {self._text_of(one): {self._text_of(child) for child in one.children} for one in self.graph}

    def demand(self, text: str) -> Demand:
        return demand_of(parse_filter(text), self.graph)

    def paper_demand(self, text: str) -> Demand:
        return paper_demand_of(parse_filter(text), self.graph)

    def _text_of(self, found: AdvertisedFilter) -> str:
        return self._texts[next(iter(found.rates))]
