"""Who is admitted: the product's ledger says which brokers refuse, the product's criterion whether that is too many."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cache
from typing import Final

from p2psub.admission.criteria import Criterion
from p2psub.admission.ledger import Ledger
from p2psub.admission.reservations import Reservations, SpreadReservations, StreamReservations
from p2psub.model.charges import Charge
from p2psub.model.content import Filter
from p2psub.model.ids import ID_BYTES, NodeId, Place, SubscriptionId
from sims.experiments.admission.brokers import BrokerNet, BrokerResource
from sims.experiments.admission.workload import PUBLISHERS, AdmissionWorkload

INCARNATION: Final = 1


class DemandChoice(enum.StrEnum):
    """What a subscription reserves: the paper's maximal demand at every broker; or on its route, alone or shared."""

    PAPER = "paper"
    ROUTE = "route"
    SHARED = "shared"


class ShareOf(enum.StrEnum):
    """Of whom a percentage is: the brokers that would carry something, or all there are."""

    ASKED = "asked"
    ALL = "all"


@dataclass(slots=True)
class Admitted:
    """How many asked, and how many of them were admitted."""

    asked: int = 0
    admitted: int = 0

    @property
    def reject_rate(self) -> float:
        return 1.0 - self.admitted / self.asked if self.asked else 0.0

    def count(self, is_admitted: bool) -> bool:
        """Note one answer, and give it."""
        self.asked += 1
        self.admitted += is_admitted
        return is_admitted


class AdmissionGate:
    """Subscriptions and advertisements come and go here. Advertisements pass, unless they are voted on, too."""

    def __init__(
        self,
        criterion: Criterion,
        ledger: Ledger[BrokerResource],
        reservations: Reservations[BrokerResource],
        brokers: int | None,
        *,
        is_voting_on_advertisements: bool,
    ) -> None:
        self._criterion = criterion
        self._ledger = ledger
        self._reservations = reservations
        self._brokers = brokers
        """Of how many a percentage is; None: of those that were asked."""
        self._is_voting_on_advertisements = is_voting_on_advertisements
        self.subscriptions = Admitted()
        self.advertisements = Admitted()

    def subscribe(self, subscription: SubscriptionId, wanted: Filter) -> bool:
        """Whether it is admitted; it is then reserved for."""
        if not self._criterion.is_asking:
            return self.subscriptions.count(True)
        is_admitted = self._is_fitting(self._reservations.charges_of_subscription(subscription, wanted))
        if is_admitted:
            self._reservations.subscribe(subscription, wanted)
        return self.subscriptions.count(is_admitted)

    def unsubscribe(self, subscription: SubscriptionId) -> None:
        self._reservations.unsubscribe(subscription)

    def advertise(self, advertisement: SubscriptionId, offered: Filter, rate: float) -> bool:
        """Whether it is admitted; it is then counted with."""
        if not self._criterion.is_asking:
            return self.advertisements.count(True)
        is_admitted = not self._is_voting_on_advertisements or self._is_fitting(
            self._reservations.charges_of_advertisement(advertisement, offered, rate)
        )
        if is_admitted:
            self._reservations.advertise(advertisement, offered, rate)
        return self.advertisements.count(is_admitted)

    def withdraw(self, advertisement: SubscriptionId) -> None:
        self._reservations.withdraw(advertisement)

    def _is_fitting(self, charges: list[Charge[BrokerResource]]) -> bool:
        asked = {resource.broker for charge in charges for resource in charge.resources}
        refused = {shortage.resource.broker for shortage in self._ledger.would_exceed(charges)}
        return self._criterion.admits(self._brokers or len(asked), len(refused))


def gate_of(
    criterion: Criterion,
    demand: DemandChoice,
    share_of: ShareOf,
    net: BrokerNet,
    workload: AdmissionWorkload,
    *,
    is_voting_on_advertisements: bool,
) -> AdmissionGate:
    """The gate of a network."""
    ledger = Ledger(net.capacities)
    return AdmissionGate(
        criterion,
        ledger,
        _reservations(ledger, demand, net, homes_of(workload)),
        len(net.feeders) if share_of is ShareOf.ALL else None,
        is_voting_on_advertisements=is_voting_on_advertisements,
    )


def advertisement_of(publisher: int, number: int) -> SubscriptionId:
    """The name of a publisher's turn."""
    return SubscriptionId(_publisher(publisher), INCARNATION, number)


def subscription_of(subscriber: int, number: int) -> SubscriptionId:
    """The name of a subscriber's wish."""
    return SubscriptionId(_subscriber(subscriber), INCARNATION, number)


def homes_of(workload: AdmissionWorkload) -> dict[NodeId, int]:
    """The brokers of all publishers and subscribers."""
    publishers = {_publisher(number): home for number, home in enumerate(workload.publishers)}
    return publishers | {_subscriber(number): home for number, home in enumerate(workload.subscribers)}


def _reservations(
    ledger: Ledger[BrokerResource], demand: DemandChoice, net: BrokerNet, homes: dict[NodeId, int]
) -> Reservations[BrokerResource]:
    if demand is DemandChoice.PAPER:
        return SpreadReservations(ledger, cache(lambda subscriber: net.spread(homes[subscriber])))
    way = cache(lambda publisher, subscriber: net.way(homes[publisher], homes[subscriber]))
    return StreamReservations(ledger, way, is_shared=demand is DemandChoice.SHARED)


def _publisher(number: int) -> NodeId:
    return _node_of(number)


def _subscriber(number: int) -> NodeId:
    return _node_of(PUBLISHERS + number)


def _node_of(number: int) -> NodeId:
    return NodeId(Place(number.to_bytes(ID_BYTES, "big")))
