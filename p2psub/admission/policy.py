"""The vote in every subscription's convergecast: whether a key's owner can carry one more subscription."""

from __future__ import annotations

from typing import Protocol

from p2psub.model.content import Subscription


class Policy(Protocol):
    """Decides on one subscription at the owner of its key; asked once per version of it (`Votes`)."""

    @property
    def may_refuse(self) -> bool:
        """Whether any owner of the overlay ever says no: then nothing counts as granted, or delivered, before it is."""
        ...

    def grants(self, subscription: Subscription) -> bool: ...


class AdmitAll:
    """Every subscription is admitted: the policy until capacity is counted."""

    may_refuse = False

    def grants(self, subscription: Subscription) -> bool:
        return True
