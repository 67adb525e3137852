"""The votes of one owner: each is given once, and repeated whenever it is asked for again.

A confirmation may be lost, and the next super-node asks anew what the last one did not claim. The owner's load may have
changed by then; its word has not.
"""

from __future__ import annotations

from collections.abc import Container

from p2psub.admission.policy import Policy
from p2psub.model.content import DeclarationState, Subscription
from p2psub.model.ids import SubscriptionId


class Votes:
    """What one process has said, on the last version of each subscription that it was asked about."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._given: dict[SubscriptionId, tuple[int, bool]] = {}

    def on(self, record: Subscription) -> bool:
        """Whether the owner grants a record; an end needs no room, nor does what was overtaken by another version."""
        version, is_granted = self._given.get(record.id, (0, True))
        if record.state is DeclarationState.ENDED or record.version < version:
            return True
        if record.version > version:
            is_granted = self._policy.grants(record)
            self._given[record.id] = (record.version, is_granted)
        return is_granted

    def keep(self, ids: Container[SubscriptionId]) -> None:
        """Forget the votes on all others: they are for other owners now."""
        self._given = {id_: vote for id_, vote in self._given.items() if id_ in ids}
