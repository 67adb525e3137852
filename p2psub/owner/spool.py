"""Undelivered events of one owner: a byte limit per target cluster; the oldest make room, and subscribers are told."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from p2psub.model.ids import ClusterId, NodeId, SubscriptionId
from p2psub.model.outcomes import Missed
from p2psub.owner.held_parcel import HeldParcel


class Spool:
    """Counts what is kept for each cluster, and what had to be dropped for each subscription."""

    def __init__(self, owner: NodeId, incarnation: int, bytes_max: int) -> None:
        self._owner = owner
        self._incarnation = incarnation
        self._bytes_max = bytes_max
        self._number = 0
        self._kept: dict[ClusterId, OrderedDict[int, tuple[HeldParcel, int]]] = {}
        """Per cluster in the order of coming, with the bytes that count for it."""
        self._bytes: dict[ClusterId, int] = {}
        self._missed: dict[SubscriptionId, int] = {}

    def add(self, held: HeldParcel) -> None:
        """It waits for its outcomes from now on."""
        owed: dict[ClusterId, int] = {}
        for cluster, places in held.owed.values():
            owed[cluster] = owed.get(cluster, 0) | places
        for cluster, places in owed.items():
            if cluster not in held.spooled:
                self._number += 1
                bytes_ = places.bit_count() * held.event_bytes
                self._kept.setdefault(cluster, OrderedDict())[self._number] = (held, bytes_)
                self._bytes[cluster] = self._bytes.get(cluster, 0) + bytes_
                held.spooled[cluster] = self._number

    def settle(self, held: HeldParcel, cluster: ClusterId) -> None:
        """One more subscription has its outcome: if it was the last there, the cluster's share is free."""
        if cluster in held.spooled and cluster not in [where for where, _ in held.owed.values()]:
            self._free(held, cluster)

    def release(self, held: HeldParcel) -> None:
        """It waits for nothing any more."""
        for cluster in list(held.spooled):
            self._free(held, cluster)

    def _free(self, held: HeldParcel, cluster: ClusterId) -> None:
        kept = self._kept[cluster]
        _, bytes_ = kept.pop(held.spooled.pop(cluster))
        if kept:
            self._bytes[cluster] -= bytes_
        else:
            del self._kept[cluster], self._bytes[cluster]

    def overflow(self) -> list[tuple[HeldParcel, SubscriptionId, int]]:
        """What must be dropped, oldest first, so that no cluster's share exceeds the limit."""
        dropped: list[tuple[HeldParcel, SubscriptionId, int]] = []
        for cluster in [cluster for cluster, bytes_ in self._bytes.items() if bytes_ > self._bytes_max]:
            while self._bytes.get(cluster, 0) > self._bytes_max:
                held, _ = next(iter(self._kept[cluster].values()))
                self._free(held, cluster)
                dropped += [(held, id_, places) for id_, (where, places) in held.owed.items() if where == cluster]
        for _, id_, places in dropped:
            self._missed[id_] = self._missed.get(id_, 0) + places.bit_count()
        return dropped

    def missed_by(self, subscriptions: Iterable[SubscriptionId]) -> tuple[Missed, ...]:
        """What these subscriptions must be told with their next event."""
        if not self._missed:
            return ()
        missed = [(id_, self._missed[id_]) for id_ in subscriptions if id_ in self._missed]
        return tuple(Missed(id_, self._owner, self._incarnation, count) for id_, count in missed)
