"""A half that a super-node handed on: who has it, and when it has to be handed on again."""

from __future__ import annotations

from typing import Final

from p2psub.casts.payload import Payload
from p2psub.model.ids import Contact
from p2psub.model.messages.casts import Summary
from p2psub.model.transmission import Transmission
from p2psub.overlay.liveness import Liveness

_LAPSE_TICKS: Final = 14
"""Custody that is not renewed lapses after this time and as long again as it was renewed. A guess: two may be lost."""
BACKOFF_MAX: Final = 4
"""A half that no super-node takes is tried at ever longer intervals, up to this many times the first."""


class Half:
    """One sibling half that we handed on; open casts that both have it share it."""

    __slots__ = (
        "first",
        "holder",
        "hops",
        "in_custody",
        "is_asked_after",
        "payload",
        "sent_tick",
        "since_us",
        "summary",
        "transmission",
        "tries",
    )

    def __init__(self, payload: Payload, since_us: int, hops: int) -> None:
        self.payload = payload
        self.since_us = since_us
        self.hops = hops
        self.first: Contact | None = None
        """Who was asked before all others."""
        self.holder: Contact | None = None
        self.sent_tick = 0
        self.transmission: Transmission | None = None
        """What became of the last request, if there was one to ask."""
        self.tries = 0
        self.in_custody = False
        self.is_asked_after = False
        """Whether its holder was asked if it has the half, and has not said so since."""
        self.summary: Summary | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether what its holder was sent last has not left yet, and its answer is still awaited."""
        return self.summary is None and self.transmission is not None and self.transmission.is_waiting

    def is_stuck(self, tick: int, custody_ticks: int, liveness: Liveness) -> bool:
        """Whether it has no custodian, or one that is silent; never because an answer is slow."""
        patience = custody_ticks * min(self.tries + self.is_asked_after, BACKOFF_MAX)
        if self.holder is None or self.transmission is None:
            return tick - self.sent_tick >= patience
        is_dead = liveness.is_dead(self.holder.id)
        if self.in_custody:
            return is_dead or self.transmission.is_due(tick, _LAPSE_TICKS)
        if is_dead and self.transmission.is_waiting:
            return tick - self.sent_tick >= patience
        return self.transmission.is_due(tick, patience, self.tries)

    def may_be_there(self, liveness: Liveness) -> bool:
        """Whether a silent holder may have it: it was not asked yet, and only what it says may be held up."""
        if self.holder is None or self.transmission is None or self.is_asked_after:
            return False
        return not self.transmission.is_lost and not liveness.is_dead(self.holder.id)
