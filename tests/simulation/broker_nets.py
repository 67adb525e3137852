"""Small networks for the tests of admission's experiment, and who publishes and subscribes there."""

from __future__ import annotations

from p2psub.admission.criteria import read_criterion
from p2psub.model.instants import SECOND_US
from p2psub.model.rates import RATE_ONE
from sims.experiments.admission.brokers import BrokerNet, BrokerResource
from sims.experiments.admission.gate import AdmissionGate, DemandChoice, ShareOf, gate_of
from sims.experiments.admission.run import AdmissionRun, AdmissionTally
from sims.experiments.admission.workload import (
    AdmissionWorkload,
    AdvertisementLife,
    QuotedEvent,
    Says,
    SubscriberWish,
    Turn,
)

QUOTE = QuotedEvent("x", 0.5)


def line(*work_per_s: float, carried_per_s: float = 1_000) -> BrokerNet:
    """Brokers in a row."""
    count = len(work_per_s)
    capacities = {BrokerResource(n, n): int(per_s * RATE_ONE) for n, per_s in enumerate(work_per_s)}
    for n in range(count - 1):
        capacities |= dict.fromkeys((BrokerResource(n, n + 1), BrokerResource(n + 1, n)), int(carried_per_s * RATE_ONE))
    feeders = [tuple(n + (root > n) - (root < n) for n in range(count)) for root in range(count)]
    return BrokerNet(capacities, tuple(feeders))


def turn(publisher: int, at_s: float = 0.0, every_s: float = 0.1, event: QuotedEvent = QUOTE) -> Turn:
    """From this second on, an event in so many seconds."""
    return Turn(int(at_s * SECOND_US), publisher, int(every_s * SECOND_US), event)


def wish(
    subscriber: int, at_s: float = 0.0, until_s: float = 3_600, name: str = "x", below: float = 1.0
) -> SubscriberWish:
    """All prices below this, of one name."""
    return SubscriberWish(int(at_s * SECOND_US), int(until_s * SECOND_US), subscriber, name, 0.0, below)


def workload(
    turns: list[Turn],
    wishes: list[SubscriberWish],
    publishers: tuple[int, ...] = (0,),
    subscribers: tuple[int, ...] = (1,),
) -> AdmissionWorkload:
    """Publishers and subscribers at these brokers; each publisher advertises what its first turn takes."""
    rates = [SECOND_US / next(one.interval_us for one in turns if one.publisher == n) for n in range(len(publishers))]
    return AdmissionWorkload(publishers, subscribers, tuple(rates), tuple(turns), tuple(wishes))


def run(
    net: BrokerNet,
    of: AdmissionWorkload,
    criterion: str = "none",
    demand: DemandChoice = DemandChoice.SHARED,
    seconds: float = 10,
    share_of: ShareOf = ShareOf.ASKED,
    advertisements: AdvertisementLife = AdvertisementLife.CHANGING,
    is_voting_on_advertisements: bool = False,
) -> tuple[AdmissionTally, AdmissionGate]:
    """What came of it, and of those who asked."""
    votes = is_voting_on_advertisements
    gate = gate_of(read_criterion(criterion), demand, share_of, net, of, is_voting_on_advertisements=votes)
    return AdmissionRun(net, of, gate, seconds, Says.NAME, advertisements).run(), gate
