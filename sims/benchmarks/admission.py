"""What the ledger costs: microseconds of a subscription, an advertisement and a question, beside many that stand.

python -m sims.benchmarks.admission

Topics have five advertisements each; subscriptions pin one topic and an interval of prices; a way has four resources.
`wildcard` is the worst: an advertisement that pins no topic meets all subscriptions there are.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterable
from random import Random
from time import process_time
from typing import Final, TypeVar

from p2psub.admission.ledger import Ledger
from p2psub.admission.reservations import StreamReservations
from p2psub.compiled import is_compiled
from p2psub.matching.language import parse_filter
from p2psub.model.content import TOPIC, Filter, Operator, Predicate
from p2psub.model.ids import ID_BYTES, NodeId, Place, SubscriptionId

SUBSCRIPTIONS: Final = 100_000
ADVERTISEMENTS: Final = 1_000
PER_TOPIC: Final = 5
NODES: Final = 200
HOPS: Final = 4
TIMED: Final = 200
"""How many of each are timed, when all others stand."""
LIMIT_US: Final = 20_000
"""No call may hold a node up for longer."""

Resource = tuple[int, int]
T = TypeVar("T")


class Bed:
    """Reservations with everything standing, and drawn declarations for more."""

    def __init__(self, subscriptions: int, advertisements: int, *, is_shared: bool) -> None:
        self._random = Random(1)
        self._count = 0
        self._topics = max(1, advertisements // PER_TOPIC)
        self.ledger: Ledger[Resource] = Ledger({(node, hop): 1 for node in range(NODES) for hop in range(HOPS)})
        self.reservations = StreamReservations(self.ledger, way, is_shared=is_shared)
        for _ in range(subscriptions):
            self.reservations.subscribe(self.name(), self.wanted())
        for number in range(advertisements):
            self.reservations.advertise(self.name(), self.offered(number), 25.0)

    def name(self) -> SubscriptionId:
        """That of one more declaration."""
        self._count += 1
        return SubscriptionId(node_of(self._random.randrange(NODES)), 1, self._count)

    def wanted(self) -> Filter:
        least = self._random.random()
        return Filter(
            (
                (
                    self._on_topic(self._random.randrange(self._topics)),
                    Predicate("price", Operator.GREATER_EQUAL, least),
                    Predicate("price", Operator.LESS, least + 0.5),
                ),
            )
        )

    def offered(self, number: int) -> Filter:
        return Filter(((self._on_topic(number % self._topics),),))

    def _on_topic(self, number: int) -> Predicate:
        return Predicate(TOPIC, Operator.EQUAL, f"topic{number}")


def node_of(number: int) -> NodeId:
    """One of so many nodes."""
    return NodeId(Place(number.to_bytes(ID_BYTES, "big")))


def way(publisher: NodeId, subscriber: NodeId) -> tuple[Resource, ...]:
    """Some resources that depend on both ends."""
    first, last = publisher[-1], subscriber[-1]
    return tuple(((first + (last - first) * hop // (HOPS - 1)) % NODES, hop) for hop in range(HOPS))


def measure(subscriptions: int = SUBSCRIPTIONS, advertisements: int = ADVERTISEMENTS) -> dict[str, object]:
    """The mean and the longest of each call, under both of our readings."""
    figures: dict[str, object] = {"subscriptions": subscriptions, "advertisements": advertisements}
    for reading in ("shared", "route"):
        gc.collect()
        bed = Bed(subscriptions, advertisements, is_shared=reading == "shared")
        gc.freeze()
        for name, took in _timed(bed, advertisements).items():
            figures[f"{reading}_{name}_us"] = round(sum(took) / len(took), 1)
            figures[f"{reading}_{name}_us_max"] = round(max(took), 1)
        gc.unfreeze()
    return {**figures, "limit_us": LIMIT_US, "compiled": is_compiled()}


def _timed(bed: Bed, advertisements: int) -> dict[str, list[float]]:
    reservations, ledger = bed.reservations, bed.ledger
    wants = [(bed.name(), bed.wanted()) for _ in range(TIMED)]
    offers = [(bed.name(), bed.offered(number * 7 % max(1, advertisements))) for number in range(TIMED)]
    wildcard = bed.name(), parse_filter("price > 0.5")
    asked = [reservations.charges_of_subscription(*one) for one in wants]
    return {
        "ask": _each(lambda one: reservations.charges_of_subscription(*one), wants),
        "would_exceed": _each(ledger.would_exceed, asked),
        "subscribe": _each(lambda one: reservations.subscribe(*one), wants),
        "unsubscribe": _each(lambda one: reservations.unsubscribe(one[0]), wants),
        "advertise": _each(lambda one: reservations.advertise(*one, 25.0), offers),
        "withdraw": _each(lambda one: reservations.withdraw(one[0]), offers),
        "wildcard_advertise": _each(lambda one: reservations.advertise(*one, 25.0), [wildcard]),
        "wildcard_withdraw": _each(lambda one: reservations.withdraw(one[0]), [wildcard]),
    }


def _each(call: Callable[[T], object], items: Iterable[T]) -> list[float]:
    took = []
    for item in items:
        began = process_time()
        call(item)
        took.append((process_time() - began) * 1e6)
    return took


def main() -> None:
    """Print the figures, as JSON with --json."""
    figures = measure()
    if "--json" in sys.argv:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:34} {value if isinstance(value, bool) else format(value, ','):>12}")


if __name__ == "__main__":
    main()
