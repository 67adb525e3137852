"""One subscription of this process, as its subscriber keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from p2psub.admission.declarations import Declared
from p2psub.model.bids import Bid
from p2psub.model.content import Event
from p2psub.model.effects import Notify
from p2psub.model.ids import NodeId, Process, SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.subscriber.checked_parcel import Hashed
from p2psub.subscriber.inflow import Inflow
from p2psub.subscriber.publisher_order import PublisherOrder

_INFLOWS_MAX: Final = 4096
"""Streams per subscription that are remembered: an owner of every cluster, and some that are gone."""

HeldBack = tuple[Hashed, Micros, int]
"""An event, when it was published, by our clock, and up to which age it may be handed over."""


class Arrived:
    """Events of one guarantee that were published together, as far as their age tells."""

    __slots__ = ("born_us", "hashed", "limit_us")

    def __init__(self, hashed: list[Hashed], born_us: Micros, limit_us: int) -> None:
        self.hashed = hashed
        self.born_us = born_us
        self.limit_us = limit_us


def arrivals(held_back: Iterable[HeldBack]) -> Iterator[Arrived]:
    """What was held back, in its order, with as many events together as have all of that in common."""
    for (born_us, limit_us, _), some in groupby(held_back, lambda one: (one[1], one[2], one[0][0].guarantee)):
        yield Arrived([hashed for hashed, _, _ in some], born_us, limit_us)


def notification(id_: SubscriptionId, events: list[Event], several: list[Arrived]) -> Notify:
    """What the application is told of all of them; of limits nothing where there are none."""
    first, *others = several
    born_us = [first.born_us] * len(first.hashed)
    limits_us = [first.limit_us] * len(first.hashed)
    for one in others:
        born_us += [one.born_us] * len(one.hashed)
        limits_us += [one.limit_us] * len(one.hashed)
    return Notify(id_, events, born_us, limits_us if any(limits_us) else ())


@dataclass(slots=True)
class HeldSubscription:
    """One subscription of this process."""

    declared: Declared
    command: int
    window: int
    """What its channel takes at present."""
    room_min: int
    """With less room it counts as full."""
    order: PublisherOrder | None
    bid: Bid
    held_back: list[HeldBack] = field(default_factory=list)
    """Arrived before the verdict."""
    is_pressed: bool = False
    """Whether something that may become late, or be refused, waits at its owner for the verdict."""
    inflows: dict[tuple[NodeId, int], Inflow] = field(default_factory=dict)
    """The streams by which it gets events, by their owners' processes."""
    gap: int = 0
    missed: dict[tuple[NodeId, int], int] = field(default_factory=dict)
    """Per process of an owner: how many events its spool dropped, as told so far."""

    def inflow_of(self, owner: Process, tick: int) -> Inflow:
        """The stream of an owner's process; of too many the one goes that was silent for longest."""
        name = (owner.contact.id, owner.incarnation)
        inflow = self.inflows.pop(name, None) or Inflow(owner, tick)
        self.inflows[name] = inflow
        inflow.used_tick = tick
        if len(self.inflows) > _INFLOWS_MAX:
            del self.inflows[next(iter(self.inflows))]
        return inflow

    @property
    def why_inactive(self) -> Reason:
        """Why nothing more is handed over."""
        return Reason.REFUSED if self.declared.status is VerdictStatus.REFUSED else Reason.UNSUBSCRIBED

    @property
    def early(self) -> int:
        """How many deliveries wait for earlier ones of their streams."""
        return sum(len(inflow.early) for inflow in self.inflows.values())

    @property
    def room(self) -> int:
        """How many more events are taken; 0 if they are too few to be worth a message, or must await the verdict."""
        room = 0 if self.is_pressed else self.window - len(self.held_back)
        return room if room >= self.room_min else 0
