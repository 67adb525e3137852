"""What is reserved at each resource, and what more would not fit (RacsCBPS 4.1 and 4.2).

A charge names who pays, how much, and at which resources. A payer pays once at each of them, however many of its
charges are entered: it pays from the first, and until the last is struck. So readings of the paper are one mechanism,
and differ in who pays: an advertisement, whose events pass once for all who want them; each subscription for each
advertisement; or a subscription as a whole (`reservations.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from p2psub.model.charges import Charge, Shortage

R = TypeVar("R", bound=Hashable)


class Ledger(Generic[R]):
    """Who pays at which resource. Amounts are ints, so what is struck leaves exactly what was there before."""

    def __init__(self, capacities: Mapping[R, int]) -> None:
        self._capacities = capacities
        """Its caller's, and looked up anew for every question. What is not in it is not limited."""
        self._payers: dict[R, dict[Hashable, int]] = {}
        """At each resource how many charges each payer has there."""
        self._reserved: dict[R, int] = {}

    def enter(self, charge: Charge[R]) -> None:
        """Let a payer pay, where it does not already."""
        for resource in charge.resources:
            payers = self._payers.setdefault(resource, {})
            charges = payers.get(charge.payer, 0)
            payers[charge.payer] = charges + 1
            if not charges:
                self._reserved[resource] = self._reserved.get(resource, 0) + charge.amount

    def strike(self, charge: Charge[R]) -> None:
        """Take a charge out that was entered, as it was entered."""
        for resource in charge.resources:
            payers = self._payers[resource]
            payers[charge.payer] -= 1
            if not payers[charge.payer]:
                del payers[charge.payer]
                self._reserved[resource] -= charge.amount
                if not payers:
                    del self._payers[resource], self._reserved[resource]

    def reserved(self) -> dict[R, int]:
        """What is paid at each resource where anything is."""
        return dict(self._reserved)

    def would_exceed(self, charges: Iterable[Charge[R]]) -> list[Shortage[R]]:
        """Where these charges would not fit together, the worst first. Nothing is entered."""
        short = [
            Shortage(resource, needed, self._capacities[resource] - self._reserved.get(resource, 0))
            for resource, needed in self._needed(charges).items()
            if resource in self._capacities
        ]
        return sorted((one for one in short if one.needed > one.available), key=lambda one: one.available - one.needed)

    def _needed(self, charges: Iterable[Charge[R]]) -> dict[R, int]:
        """What they would add at each resource, where it is anything: their payer may pay already."""
        payers: dict[R, dict[Hashable, int]] = {}
        for charge in charges:
            for resource in charge.resources:
                if charge.amount and charge.payer not in self._payers.get(resource, ()):
                    payers.setdefault(resource, {})[charge.payer] = charge.amount
        return {resource: sum(amounts.values()) for resource, amounts in payers.items()}
