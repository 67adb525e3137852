"""Peer-to-peer content-based publish/subscribe.

    from p2psub import PeerConfig, open_peer

Names are loaded when they are first asked for: importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from p2psub.api.errors import (
        AdmissionRefused,
        AdvertisementRefused,
        AlreadyEnded,
        BadContent,
        NotAuthorized,
        NotTaken,
        Refusal,
        SubscriptionRefused,
        TooLarge,
    )
    from p2psub.api.items import Gap, Notification
    from p2psub.api.settings import PeerConfig
    from p2psub.api.status import PeerStatus
    from p2psub.errors import ConfigError, P2psubError
    from p2psub.matching.faults import FilterError
    from p2psub.model.content import Draft, Event, Filter, Guarantee, Moment, Operator, Order, Predicate, Value
    from p2psub.model.outcomes import AdvertiseVerdict, PublishOutcome, SubscribeVerdict, VerdictStatus
    from p2psub.model.reasons import Reason
    from p2psub.runtime.advertisement_handle import AdvertisementHandle
    from p2psub.runtime.enrolment_client import EnrolmentFailed
    from p2psub.runtime.host import open_peer
    from p2psub.runtime.peer import Peer
    from p2psub.runtime.store_file import StoreBusy, StoreDamaged, StoreError, StoreUnusable
    from p2psub.runtime.subscription_stream import SubscriptionStream

_HOMES = {
    "AdmissionRefused": "p2psub.api.errors",
    "AdvertiseVerdict": "p2psub.model.outcomes",
    "AdvertisementHandle": "p2psub.runtime.advertisement_handle",
    "AdvertisementRefused": "p2psub.api.errors",
    "AlreadyEnded": "p2psub.api.errors",
    "BadContent": "p2psub.api.errors",
    "ConfigError": "p2psub.errors",
    "Draft": "p2psub.model.content",
    "EnrolmentFailed": "p2psub.runtime.enrolment_client",
    "Event": "p2psub.model.content",
    "Filter": "p2psub.model.content",
    "FilterError": "p2psub.matching.faults",
    "Gap": "p2psub.api.items",
    "Guarantee": "p2psub.model.content",
    "Moment": "p2psub.model.content",
    "NotAuthorized": "p2psub.api.errors",
    "NotTaken": "p2psub.api.errors",
    "Notification": "p2psub.api.items",
    "Operator": "p2psub.model.content",
    "Order": "p2psub.model.content",
    "P2psubError": "p2psub.errors",
    "Peer": "p2psub.runtime.peer",
    "PeerConfig": "p2psub.api.settings",
    "PeerStatus": "p2psub.api.status",
    "Predicate": "p2psub.model.content",
    "PublishOutcome": "p2psub.model.outcomes",
    "Reason": "p2psub.model.reasons",
    "Refusal": "p2psub.api.errors",
    "StoreBusy": "p2psub.runtime.store_file",
    "StoreDamaged": "p2psub.runtime.store_file",
    "StoreError": "p2psub.runtime.store_file",
    "StoreUnusable": "p2psub.runtime.store_file",
    "SubscribeVerdict": "p2psub.model.outcomes",
    "SubscriptionStream": "p2psub.runtime.subscription_stream",
    "SubscriptionRefused": "p2psub.api.errors",
    "TooLarge": "p2psub.api.errors",
    "Value": "p2psub.model.content",
    "VerdictStatus": "p2psub.model.outcomes",
    "open_peer": "p2psub.runtime.host",
}

__all__ = [
    "AdmissionRefused",
    "AdvertiseVerdict",
    "AdvertisementHandle",
    "AdvertisementRefused",
    "AlreadyEnded",
    "BadContent",
    "ConfigError",
    "Draft",
    "EnrolmentFailed",
    "Event",
    "Filter",
    "FilterError",
    "Gap",
    "Guarantee",
    "Moment",
    "NotAuthorized",
    "NotTaken",
    "Notification",
    "Operator",
    "Order",
    "P2psubError",
    "Peer",
    "PeerConfig",
    "PeerStatus",
    "Predicate",
    "PublishOutcome",
    "Reason",
    "Refusal",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreUnusable",
    "SubscribeVerdict",
    "SubscriptionRefused",
    "SubscriptionStream",
    "TooLarge",
    "Value",
    "VerdictStatus",
    "open_peer",
]

# Hidden from type checkers, which would take every name for one that exists.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(home), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
