"""What every subscription reserves of what is advertised, kept in step with both (RacsCBPS 3.4 and 4.2).

Where a subscription may meet an advertisement, a charge of the advertisement's rate is entered at every resource on the
way of its events to the subscriber. What an advertisement's events take at home is charged to itself, wanted or not. So
the ledger is a function of subscriptions and advertisements, in whatever order they came.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from p2psub.admission.advertisement_graph import AdvertisementGraph
from p2psub.admission.demand import paper_demand_of
from p2psub.admission.ledger import Ledger
from p2psub.admission.topic_index import TopicIndex
from p2psub.matching.covering import Scope, scope_of
from p2psub.model.charges import Charge
from p2psub.model.content import Filter, pinned_topics
from p2psub.model.ids import NodeId, SubscriptionId
from p2psub.model.rates import millionths_of

R = TypeVar("R", bound=Hashable)


class Reservations(Protocol[R]):
    """Subscriptions and advertisements that stand, as a ledger has them."""

    def charges_of_subscription(self, subscription: SubscriptionId, wanted: Filter) -> list[Charge[R]]:
        """What would be entered if it stood; ask before it does."""
        ...

    def charges_of_advertisement(self, advertisement: SubscriptionId, offered: Filter, rate: float) -> list[Charge[R]]:
        """What would be entered if it stood; ask before it does."""
        ...

    def subscribe(self, subscription: SubscriptionId, wanted: Filter) -> None:
        """Take a subscription up, in place of one with the same id."""
        ...

    def unsubscribe(self, subscription: SubscriptionId) -> None:
        """Take it out, if it is there."""
        ...

    def advertise(self, advertisement: SubscriptionId, offered: Filter, rate: float) -> None:
        """Take an advertisement up, in place of one with the same id; at most so many events per second."""
        ...

    def withdraw(self, advertisement: SubscriptionId) -> None:
        """Take it out, if it is there."""
        ...


@dataclass(slots=True)
class StandingFilter:
    """A subscription that stands."""

    scope: Scope
    topics: tuple[str, ...]
    met: dict[SubscriptionId, None] = field(default_factory=dict)
    """The advertisements that it may meet."""


class StreamReservations(Generic[R]):
    """Every advertisement is a stream that passes on ways.

    Shared, its events count once at each resource, for they pass once; else every subscription pays for itself along
    its route.
    """

    def __init__(self, ledger: Ledger[R], way: Callable[[NodeId, NodeId], tuple[R, ...]], *, is_shared: bool) -> None:
        self._ledger = ledger
        self._way = way
        """From publisher to subscriber, both ends included; from a publisher to itself: what each event takes."""
        self._is_shared = is_shared
        self._advertised = AdvertisementGraph()
        self._standing: dict[SubscriptionId, StandingFilter] = {}
        self._by_topic: TopicIndex[SubscriptionId] = TopicIndex()
        self._charges: dict[SubscriptionId, dict[SubscriptionId, Charge[R]]] = {}
        """By advertisement those of all subscriptions that may meet it, and its own."""

    def charges_of_subscription(self, subscription: SubscriptionId, wanted: Filter) -> list[Charge[R]]:
        return list(self._met_by(subscription, scope_of(wanted), pinned_topics(wanted)).values())

    def charges_of_advertisement(self, advertisement: SubscriptionId, offered: Filter, rate: float) -> list[Charge[R]]:
        return list(self._meeting(advertisement, offered, rate).values())

    def subscribe(self, subscription: SubscriptionId, wanted: Filter) -> None:
        self.unsubscribe(subscription)
        standing = self._standing[subscription] = StandingFilter(scope_of(wanted), pinned_topics(wanted))
        self._by_topic.enter(subscription, standing.topics)
        for advertisement, charge in self._met_by(subscription, standing.scope, standing.topics).items():
            self._enter(advertisement, subscription, charge)

    def unsubscribe(self, subscription: SubscriptionId) -> None:
        standing = self._standing.pop(subscription, None)
        if standing is not None:
            self._by_topic.remove(subscription, standing.topics)
            for advertisement in standing.met:
                self._ledger.strike(self._charges[advertisement].pop(subscription))

    def advertise(self, advertisement: SubscriptionId, offered: Filter, rate: float) -> None:
        self.withdraw(advertisement)
        self._advertised.advertise(advertisement, offered, rate)
        for subscription, charge in self._meeting(advertisement, offered, rate).items():
            self._enter(advertisement, subscription, charge)

    def withdraw(self, advertisement: SubscriptionId) -> None:
        self._advertised.withdraw(advertisement)
        for subscription, charge in self._charges.pop(advertisement, {}).items():
            self._ledger.strike(charge)
            if subscription in self._standing:
                del self._standing[subscription].met[advertisement]

    def _enter(self, advertisement: SubscriptionId, subscription: SubscriptionId, charge: Charge[R]) -> None:
        self._charges.setdefault(advertisement, {})[subscription] = charge
        self._ledger.enter(charge)
        # The one that an advertisement pays itself is of no subscription.
        if subscription in self._standing:
            self._standing[subscription].met[advertisement] = None

    def _met_by(
        self, subscription: SubscriptionId, scope: Scope, topics: tuple[str, ...]
    ) -> dict[SubscriptionId, Charge[R]]:
        """What a subscription pays for each advertisement that it may meet."""
        return {
            advertisement: self._charge(advertisement, rate, subscription)
            for one in self._advertised.near(topics)
            if scope.meets(one.scope)
            for advertisement, rate in one.rates.items()
        }

    def _meeting(self, advertisement: SubscriptionId, offered: Filter, rate: float) -> dict[SubscriptionId, Charge[R]]:
        """What each subscription pays that may meet an advertisement, and what that pays itself."""
        scope, amount = scope_of(offered), millionths_of(rate)
        if not scope.conjunctions:
            return {}
        near = self._by_topic.near(pinned_topics(offered))
        payers = [advertisement, *(one for one in near if self._standing[one].scope.meets(scope))]
        return {one: self._charge(advertisement, amount, one) for one in payers}

    def _charge(self, advertisement: SubscriptionId, amount: int, subscription: SubscriptionId) -> Charge[R]:
        payer = advertisement if self._is_shared else (advertisement, subscription)
        return Charge(payer, amount, self._way(advertisement.node, subscription.node))


class SpreadReservations(Generic[R]):
    """The paper's reading, to compare with: every broker reserves the maximal demand of each subscription (formula 1).

    That of a filter which nothing covers is all that is advertised, so an advertisement touches every subscription.
    """

    def __init__(self, ledger: Ledger[R], spread: Callable[[NodeId], tuple[R, ...]]) -> None:
        self._ledger = ledger
        self._spread = spread
        """All that a subscription of this node is told to."""
        self._advertised = AdvertisementGraph()
        self._standing: dict[SubscriptionId, tuple[Filter, Charge[R]]] = {}

    def charges_of_subscription(self, subscription: SubscriptionId, wanted: Filter) -> list[Charge[R]]:
        amount = paper_demand_of(wanted, self._advertised).rate_max
        return [Charge(subscription, amount, self._spread(subscription.node))]

    def charges_of_advertisement(self, advertisement: SubscriptionId, offered: Filter, rate: float) -> list[Charge[R]]:
        """Nothing: the paper admits every advertisement."""
        return []

    def subscribe(self, subscription: SubscriptionId, wanted: Filter) -> None:
        self.unsubscribe(subscription)
        (charge,) = self.charges_of_subscription(subscription, wanted)
        self._standing[subscription] = wanted, charge
        self._ledger.enter(charge)

    def unsubscribe(self, subscription: SubscriptionId) -> None:
        _, charge = self._standing.pop(subscription, (None, None))
        if charge is not None:
            self._ledger.strike(charge)

    def advertise(self, advertisement: SubscriptionId, offered: Filter, rate: float) -> None:
        self._advertised.advertise(advertisement, offered, rate)
        self._renew()

    def withdraw(self, advertisement: SubscriptionId) -> None:
        self._advertised.withdraw(advertisement)
        self._renew()

    def _renew(self) -> None:
        for subscription, (wanted, charge) in list(self._standing.items()):
            if self.charges_of_subscription(subscription, wanted) != [charge]:
                self.subscribe(subscription, wanted)
