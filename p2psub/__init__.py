"""Peer-to-peer content-based publish/subscribe.

    from p2psub import PeerConfig, open_peer

Names are loaded when they are first asked for: importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from p2psub.errors import ConfigError, P2psubError
    from p2psub.model.content import Draft, Event, Filter, Guarantee, Moment
    from p2psub.model.outcomes import PublishOutcome, SubscribeVerdict
    from p2psub.runtime.host import PeerConfig, open_peer
    from p2psub.runtime.items import Gap, Notification
    from p2psub.runtime.peer import Peer
    from p2psub.runtime.refusals import Refusal
    from p2psub.runtime.subscription import Subscription

_HOMES = {
    "ConfigError": "p2psub.errors",
    "Draft": "p2psub.model.content",
    "Event": "p2psub.model.content",
    "Filter": "p2psub.model.content",
    "Gap": "p2psub.runtime.items",
    "Guarantee": "p2psub.model.content",
    "Moment": "p2psub.model.content",
    "Notification": "p2psub.runtime.items",
    "P2psubError": "p2psub.errors",
    "Peer": "p2psub.runtime.peer",
    "PeerConfig": "p2psub.runtime.host",
    "PublishOutcome": "p2psub.model.outcomes",
    "Refusal": "p2psub.runtime.refusals",
    "SubscribeVerdict": "p2psub.model.outcomes",
    "Subscription": "p2psub.runtime.subscription",
    "open_peer": "p2psub.runtime.host",
}

__all__ = [
    "ConfigError",
    "Draft",
    "Event",
    "Filter",
    "Gap",
    "Guarantee",
    "Moment",
    "Notification",
    "P2psubError",
    "Peer",
    "PeerConfig",
    "PublishOutcome",
    "Refusal",
    "SubscribeVerdict",
    "Subscription",
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
