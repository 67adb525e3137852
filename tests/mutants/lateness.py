"""Mutants of time: what is late, and what is done about it."""

from __future__ import annotations

from typing import Any

import pytest

from p2psub.model.ids import SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.casts import EventCast
from p2psub.node import link_clocks as link_clocks_module
from p2psub.node.egress import Egress
from p2psub.node.link_clocks import LinkClocks
from p2psub.node.queued import Queued
from p2psub.owner.held_parcel import HeldParcel
from p2psub.subscriber import subscriber as subscriber_module
from p2psub.super_node import routing as routing_module
from tests.mutants.hostile import (
    CLOCKS_RUN_APART,
    CUBE_IS_CROWDED_AND_LOSSY,
    CUBE_IS_FULL_FOR_DEADLINES,
    CUBE_IS_SLOW_FOR_DEADLINES,
    TIME_RUNS_OUT,
)
from tests.mutants.mutant import mutant


@mutant("S18", on=TIME_RUNS_OUT)
def expires_early(patch: pytest.MonkeyPatch) -> None:
    """Rule: a pair expires when it is older than its limit. Here its owner calls it expired at half of it."""
    is_late_for = HeldParcel.is_late_for

    def hasty(self: HeldParcel, subscription: SubscriptionId, now: Micros) -> bool:
        return is_late_for(self, subscription, Micros(now + self.age_us(now)))

    patch.setattr(HeldParcel, "is_late_for", hasty)


@mutant("S18", on=CUBE_IS_FULL_FOR_DEADLINES)
def forgets_waiting_time(patch: pytest.MonkeyPatch) -> None:
    """Rule: an event grows older while it waits for its link, too. Here only other time counts."""
    next_of = Egress._next

    def forgetful(self: Egress, link: Any, under_way: int) -> Queued | None:
        queued = next_of(self, link, under_way)
        if queued is not None:
            queued.since_us = self._step.now
        return queued

    patch.setattr(Egress, "_next", forgetful)


@mutant("S18", on=CUBE_IS_SLOW_FOR_DEADLINES)
def forgets_link_time(patch: pytest.MonkeyPatch) -> None:
    """Rule: an event grows older on its link, too. Here only the time that it was kept counts."""
    patch.setattr(LinkClocks, "link_us", lambda self, received, now: 0)


@mutant("S18", on=CLOCKS_RUN_APART)
def believes_an_old_least(patch: pytest.MonkeyPatch) -> None:
    """Rule: the least of a link's differences rises as it gets old. Here it holds until it is forgotten."""
    patch.setattr(link_clocks_module, "_RISE_US", 0)


@mutant("S18", on=CUBE_IS_CROWDED_AND_LOSSY, first=(20, 39))
def answers_for_what_was_sent(patch: pytest.MonkeyPatch) -> None:
    """Rule: nobody answers in the stead of a receiver that may have had it. Here a repetition is as good as a first."""
    patch.setattr(EventCast, "is_repeated", False)


@mutant("S18", on=TIME_RUNS_OUT)
def hands_over_late(patch: pytest.MonkeyPatch) -> None:
    """Rule: no owner, super-node or subscriber hands over what is late. Here none of them looks at the time."""
    patch.setattr(HeldParcel, "is_late_for", lambda self, subscription, now: False)
    patch.setattr(HeldParcel, "late", lambda self, now: [])
    patch.setattr(routing_module, "is_late", lambda age_us, timeout_us, deadline_us: False)
    patch.setattr(subscriber_module, "limit_us", lambda timeout_us, deadline_us: 0)
