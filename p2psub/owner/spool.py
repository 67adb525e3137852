"""Undelivered events of one owner: a byte limit per target cluster; the oldest make room, and subscribers are told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from p2psub.model.ids import ClusterId, NodeId, SubscriptionId
from p2psub.model.outcomes import Missed
from p2psub.owner.held_parcel import HeldParcel

_OVERHEAD_BYTES: Final = 256
"""What an event costs beside its body. A guess."""


class Spool:
    """Counts what is kept for each cluster, and what had to be dropped for each subscription."""

    def __init__(self, owner: NodeId, incarnation: int, bytes_max: int) -> None:
        self._owner = owner
        self._incarnation = incarnation
        self._bytes_max = bytes_max
        self._missed: dict[SubscriptionId, int] = {}

    def overflow(self, owed: Iterable[HeldParcel]) -> list[tuple[HeldParcel, SubscriptionId, int]]:
        """What must be dropped, oldest first, so that no cluster's share exceeds the limit."""
        by_age = sorted(owed, key=lambda held: held.born_us)
        kept: dict[ClusterId, int] = {}
        dropped: list[tuple[HeldParcel, SubscriptionId, int]] = []
        for held in reversed(by_age):
            for cluster, bytes_ in self._shares(held).items():
                kept[cluster] = kept.get(cluster, 0) + bytes_
                if kept[cluster] > self._bytes_max:
                    dropped += [(held, id_, places) for id_, (where, places) in held.owed.items() if where == cluster]
        for _, id_, places in dropped:
            self._missed[id_] = self._missed.get(id_, 0) + places.bit_count()
        dropped.reverse()
        return dropped

    def _shares(self, held: HeldParcel) -> dict[ClusterId, int]:
        """The bytes that are kept for each cluster."""
        owed: dict[ClusterId, int] = {}
        for cluster, places in held.owed.values():
            owed[cluster] = owed.get(cluster, 0) | places
        size = _OVERHEAD_BYTES + held.body_bytes
        return {cluster: places.bit_count() * size for cluster, places in owed.items()}

    def missed_by(self, subscriptions: Iterable[SubscriptionId]) -> tuple[Missed, ...]:
        """What these subscriptions must be told with their next event."""
        if not self._missed:
            return ()
        missed = [(id_, self._missed[id_]) for id_ in subscriptions if id_ in self._missed]
        return tuple(Missed(id_, self._owner, self._incarnation, count) for id_, count in missed)
