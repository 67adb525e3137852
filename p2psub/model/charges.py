"""Charges of admission: who owes what at which resource, and where there is too little. Amounts are ints."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

R = TypeVar("R", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Charge(Generic[R]):
    """An amount that its payer pays at each of some resources. All charges of one payer are of the same amount."""

    payer: Hashable
    amount: int
    resources: tuple[R, ...]
    """Each once."""


@dataclass(frozen=True, slots=True)
class Shortage(Generic[R]):
    """A resource that has less room than is asked of it; `available` is below zero where it is over-committed."""

    resource: R
    needed: int
    available: int
