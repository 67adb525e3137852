"""The advertiser's side: what this peer says it will publish, and being held to it.

Every super-node learns of an advertisement as it does of a subscription. An event that one of ours speaks of is taken
while it keeps to the rate; what none of them speaks of is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from p2psub.admission.declarations import Declarations, Declared
from p2psub.matching.predicates import CompiledFilter, compile_filter, content_of, satisfies
from p2psub.model.content import Advertisement, DeclarationState, Draft
from p2psub.model.effects import AdvertiseCommand, Reply, WithdrawCommand
from p2psub.model.instants import SECOND_US
from p2psub.model.messages.declarations import Verdict
from p2psub.model.outcomes import AdvertiseVerdict, VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step

_BURST_US: Final = SECOND_US
"""How far events may be ahead of their rate: a second's worth may come at once."""


@dataclass(slots=True)
class _Offer:
    """One advertisement of this process, and how much of it is used."""

    declared: Declared
    filter: CompiledFilter
    interval_us: float
    due_us: float = 0.0
    """When the events so far would have ended at exactly the rate (the virtual schedule of GCRA)."""

    def takes(self, now_us: int) -> bool:
        """Whether one more event keeps to the rate; if so, it counts."""
        if self.due_us - now_us > max(0.0, _BURST_US - self.interval_us):
            return False
        self.due_us = max(self.due_us, now_us) + self.interval_us
        return True


class Advertisements:
    """All advertisements of this process, by the number of their command."""

    def __init__(self, step: Step, declarations: Declarations) -> None:
        self._step = step
        self._declarations = declarations
        self._offers: dict[int, _Offer] = {}

    def active(self) -> tuple[Advertisement, ...]:
        """Those that stand, or will unless they are refused."""
        records = [offer.declared.record for offer in self._offers.values() if offer.declared.is_active]
        return tuple([record for record in records if isinstance(record, Advertisement)])

    @property
    def is_free(self) -> bool:
        """Whether nothing is held to any rate."""
        return not self._offers

    def advertise(self, command: AdvertiseCommand) -> None:
        id_, cluster = self._declarations.next_id(), self._declarations.cluster
        record = Advertisement(id_, 1, DeclarationState.ACTIVE, cluster, command.filter, command.rate)
        self._step.record(Kind.ADVERTISE, advertised=record)
        declared = self._declarations.declare(record)
        self._offers[command.number] = _Offer(declared, compile_filter(record.filter), SECOND_US / record.rate)

    def withdraw(self, command: WithdrawCommand) -> None:
        """Advertise no more; from now on nothing is held to it."""
        offer = self._offers.pop(command.number, None)
        if offer is not None:
            self._declarations.end(offer.declared)
            self._record(offer)

    def judged(self, verdict: Verdict) -> None:
        """One of ours has a new status, unless it was withdrawn: tell the application."""
        for number, offer in self._offers.items():
            if offer.declared.record.id == verdict.id:
                self._record(offer, verdict.status, len(verdict.unreached), verdict.reason)
                result = AdvertiseVerdict(verdict.id, verdict.status, verdict.unreached, verdict.reason)
                self._step.effects.append(Reply(number, result))

    def _record(
        self,
        offer: _Offer,
        status: VerdictStatus | None = None,
        unreached: int | None = None,
        reason: Reason | None = None,
    ) -> None:
        record = offer.declared.record
        assert isinstance(record, Advertisement)
        self._step.record(Kind.ADVERTISE, advertised=record, status=status, unreached=unreached, reason=reason)

    def keeps_rate(self, draft: Draft) -> bool:
        """Whether an event of ours may be published; it counts against the first advertisement that has room."""
        if self.is_free:
            return True
        content = content_of(draft)
        # A refused one binds as before, until it is withdrawn: a refusal frees no publisher.
        offers = [offer for offer in self._offers.values() if satisfies(content, offer.filter)]
        return not offers or any(offer.takes(self._step.now) for offer in offers)
