"""What the control API needs of a peer; `p2psub.runtime.peer.Peer` has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from p2psub.api.bids import Span
from p2psub.api.items import Item
from p2psub.api.status import PeerStatus
from p2psub.model.content import Draft, Value
from p2psub.model.ids import SubscriptionId
from p2psub.model.outcomes import AdvertiseVerdict, PublishOutcome, SubscribeVerdict


class SubscriptionProtocol(Protocol):
    """A subscription from which items are taken; one that is not taken from stalls no other."""

    @property
    def id(self) -> SubscriptionId:
        """Its name in the overlay."""
        ...

    @property
    def verdict(self) -> SubscribeVerdict:
        """Where it stands by now."""
        ...

    @property
    def waiting(self) -> int:
        """Items that can be taken without waiting."""
        ...

    async def take(self) -> Item:
        """The next item, as soon as there is one."""
        ...


class AdvertisementProtocol(Protocol):
    """An advertisement that stands while its block runs."""

    async def wait_verdict(self, after: AdvertiseVerdict | None = None) -> AdvertiseVerdict:
        """The first verdict; or the first that is news after this one."""
        ...


class PeerProtocol(Protocol):
    """A running peer. It raises a P2psubError, with advice, for what it refuses."""

    async def publish_many(self, drafts: Sequence[Draft]) -> list[PublishOutcome]:
        """Returns when each has its outcome, in their order. Raises before anything was published, or not at all."""
        ...

    def subscribe(
        self,
        wanted: str,
        /,
        *,
        params: Mapping[str, Value] | None = None,
        replay: bool = False,
        window: int = 1024,
        order: str = "none",
        deadline: Span | None = None,
        price: float = 1.0,
        penalty: float = 0.0,
    ) -> AbstractAsyncContextManager[SubscriptionProtocol]:
        """Hold a subscription while the block runs; entered once there is a verdict."""
        ...

    def advertise(
        self, offered: str, /, *, rate: float, params: Mapping[str, Value] | None = None
    ) -> AbstractAsyncContextManager[AdvertisementProtocol]:
        """Say what will be published while the block runs; entered once there is a verdict."""
        ...

    def status(self) -> PeerStatus:
        """How the peer is."""
        ...
