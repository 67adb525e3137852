"""A line of nodes with links between them, and what is reserved there by subscriptions and advertisements as text."""

from __future__ import annotations

from itertools import pairwise

from p2psub.admission.ledger import Ledger
from p2psub.admission.reservations import Reservations, SpreadReservations, StreamReservations
from p2psub.matching.language import parse_filter
from p2psub.model.charges import Shortage
from p2psub.model.ids import NodeId, SubscriptionId
from p2psub.model.rates import RATE_ONE
from tests.unit.bench import node_at

READINGS = ("shared", "route", "paper")
LINE = "abcde"
"""Nodes in a row; their places are 1 to 5."""


def place_of(node: NodeId) -> int:
    """Where a node stands in the row."""
    return node[0]


def way(publisher: NodeId, subscriber: NodeId) -> tuple[str, ...]:
    """The nodes from one to the other, and the links between them."""
    first, last = place_of(publisher), place_of(subscriber)
    step = 1 if last >= first else -1
    met = [LINE[place - 1] for place in range(first, last + step, step)]
    return (*met, *(f"{one}{other}" for one, other in pairwise(met)))


def spread(_: NodeId) -> tuple[str, ...]:
    """Every node."""
    return tuple(LINE)


def reservations_of(reading: str, ledger: Ledger[str]) -> Reservations[str]:
    """Those of one reading."""
    if reading == "paper":
        return SpreadReservations(ledger, spread)
    return StreamReservations(ledger, way, is_shared=reading == "shared")


class Row:
    """The row under one reading; amounts are whole events per second."""

    def __init__(self, reading: str, **capacities: int) -> None:
        self.ledger = Ledger({name: capacity * RATE_ONE for name, capacity in capacities.items()})
        self.reservations = reservations_of(reading, self.ledger)

    def subscribe(self, number: int, place: str, text: str) -> None:
        self.reservations.subscribe(declared(place, number), parse_filter(text))

    def unsubscribe(self, number: int, place: str) -> None:
        self.reservations.unsubscribe(declared(place, number))

    def advertise(self, number: int, place: str, text: str, rate: float) -> None:
        self.reservations.advertise(declared(place, number), parse_filter(text), rate)

    def withdraw(self, number: int, place: str) -> None:
        self.reservations.withdraw(declared(place, number))

    def reserved(self) -> dict[str, float]:
        return {name: amount / RATE_ONE for name, amount in self.ledger.reserved().items()}

    def short(self, number: int, place: str, text: str) -> list[Shortage[str]]:
        """Where one more subscription would not fit."""
        charges = self.reservations.charges_of_subscription(declared(place, number), parse_filter(text))
        return [
            Shortage(one.resource, one.needed // RATE_ONE, one.available // RATE_ONE)
            for one in self.ledger.would_exceed(charges)
        ]


def declared(place: str, number: int) -> SubscriptionId:
    """The name of a declaration of the node at this place."""
    return SubscriptionId(node_at(LINE.index(place) + 1), 1, number)
