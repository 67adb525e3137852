"""The order of a queue: what each algorithm has in common with its siblings."""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

from p2psub.model.instants import Micros
from p2psub.model.stakes import LinkEstimate
from p2psub.queueing.prospects import Prospect
from p2psub.queueing.tickets import Ticket

T = TypeVar("T")

POLICIES: Final = ("fcfs", "fix", "lrt", "mtep")


class QueuePolicy(Protocol[T]):
    """Which ticket goes next. One that is gone may stay here until it is met, and is passed over."""

    def push(self, ticket: Ticket[T], prospects: list[Prospect]) -> None: ...

    def pop(self, now: Micros) -> Ticket[T]:
        """The next that is not gone; there must be one."""
        ...

    def estimate(self, link: LinkEstimate) -> None:
        """The link's delays have changed, and with them all prospects."""
        ...
