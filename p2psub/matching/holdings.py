"""Who holds which rows: found by a subscription's id; and the rows of an equal filter, found by its digest.

Neither ids nor digests are held here: the rows have them, and `Pages` leads to the rows.
"""

from __future__ import annotations

import hashlib
import struct

import msgspec
import numpy as np

from p2psub.matching.buckets import RowNumber
from p2psub.matching.conjunctions import Conjunctions
from p2psub.matching.kernel import Numbers, rising
from p2psub.matching.pages import Pages, Tag
from p2psub.matching.rows import DIGEST_BYTES, NO_DIGEST
from p2psub.model.content import Filter
from p2psub.model.ids import ID_BYTES, SubscriptionId

Rank = int
"""Of a subscription, in the order of first adding."""
Standing = int
"""An event of a batch and a rank in one number, by which both are in order."""

_encoder = msgspec.msgpack.Encoder(order="deterministic")

# Copied, because that is cheaper than to make one.
_ID = hashlib.blake2b(digest_size=4)
_PACK = struct.Struct(f">{ID_BYTES}sQQ").pack


class Holdings:
    """Subscriptions with their rows. Equal filters share rows; each subscription still ends by its own id."""

    __slots__ = ("_by_digest", "_by_id", "_conjunctions", "_further", "_has_shared", "_idle", "ranks")

    def __init__(self, conjunctions: Conjunctions) -> None:
        self._conjunctions = conjunctions
        self._by_id = Pages(self._is_held_by)
        self._by_digest = Pages(conjunctions.rows.has_digest)
        self._further: dict[RowNumber, tuple[RowNumber, ...]] = {}
        """By first row of a filter that has several, the others."""
        self._idle: dict[SubscriptionId, Rank] = {}
        """Subscriptions without rows: nothing can satisfy them."""
        self._has_shared = False
        """Whether some row was ever shared; most matchers have none, and need not look."""
        self.ranks = 0
        """How many ranks were given."""

    def __len__(self) -> int:
        return len(self._by_id) + len(self._idle)

    def hold(self, subscription: SubscriptionId, wanted: Filter) -> None:
        """Take up a subscription, in place of one with the same id, whose rank it gets."""
        tag = _tag_of_id(subscription)
        rank = self._forget(subscription, tag)
        if rank is None:
            rank = self.ranks
            self.ranks += 1
        digest = _digest_of(wanted)
        first = None if digest is None else self._by_digest.find(_tag_of(digest), digest)
        if first is None:
            first = self._hold_alone(subscription, wanted, rank, digest)
        else:
            self._join(subscription, rank, first)
        if first is None:
            self._idle[subscription] = rank
        else:
            self._by_id.put(tag, first)

    def forget(self, subscription: SubscriptionId) -> None:
        """Take a subscription out, if it is there."""
        self._forget(subscription, _tag_of_id(subscription))

    def _forget(self, subscription: SubscriptionId, tag: Tag) -> Rank | None:
        """Its rank; None if it is unknown."""
        first = self._by_id.pop(tag, subscription)
        if first is None:
            return self._idle.pop(subscription, None)
        table = self._conjunctions.rows
        holder = table.holders[first]
        if isinstance(holder, dict):
            rank = holder.pop(subscription)
            if len(holder) == 1:
                [(last, rank_of_last)] = holder.items()
                for row in (first, *self._further.get(first, ())):
                    table.holders[row], table.ranks[row] = last, rank_of_last
            return rank
        rank = table.ranks[first]
        digest = table.digest(first)
        if digest != NO_DIGEST:
            self._by_digest.take_out(_tag_of(digest), first)
        for row in (first, *self._further.pop(first, ())):
            self._conjunctions.unfile(row)
        return rank

    def holders(self, rows: Numbers, events: Numbers) -> tuple[list[Standing], list[SubscriptionId]]:
        """Who holds the rows that want these events: in order, and each once however many of its rows do."""
        if self._has_shared:
            return self._sharers(rows.tolist(), (events * self.ranks).tolist())
        if not rows.size:
            return [], []
        table = self._conjunctions.rows
        standings = events * self.ranks + np.frombuffer(table.ranks, np.int64).take(rows)
        order, is_first = rising(standings)
        first, holders = order[is_first], table.holders
        return standings.take(first).tolist(), [holders[row] for row in rows.take(first).tolist()]

    def holders_of(self, rows: list[RowNumber]) -> list[SubscriptionId]:
        """The same for one event."""
        table = self._conjunctions.rows
        if self._has_shared:
            return self._sharers(rows, [0] * len(rows))[1]
        holders, ranks = table.holders, table.ranks
        found: dict[Standing, SubscriptionId] = {ranks[row]: holders[row] for row in rows}  # type: ignore[misc]
        return [found[rank] for rank in sorted(found)]

    def _sharers(self, rows: list[RowNumber], bases: list[Standing]) -> tuple[list[Standing], list[SubscriptionId]]:
        table = self._conjunctions.rows
        found: dict[Standing, SubscriptionId] = {}
        for row, base in zip(rows, bases, strict=True):
            holder = table.holders[row]
            if isinstance(holder, dict):
                found.update((base + rank, subscription) for subscription, rank in holder.items())
            elif holder is not None:
                found[base + table.ranks[row]] = holder
        standings = sorted(found)
        return standings, [found[standing] for standing in standings]

    def _hold_alone(
        self, subscription: SubscriptionId, wanted: Filter, rank: Rank, digest: bytes | None
    ) -> RowNumber | None:
        """The first of its new rows, if it has any."""
        rows: list[RowNumber] = []
        for conjunction in wanted.conjunctions:
            rows += self._conjunctions.file(conjunction)
        if not rows:
            return None
        table = self._conjunctions.rows
        for row in rows:
            table.holders[row], table.ranks[row] = subscription, rank
        first = rows[0]
        if len(rows) > 1:
            self._further[first] = tuple(rows[1:])
        table.set_digest(first, digest or NO_DIGEST)
        if digest is not None:
            self._by_digest.put(_tag_of(digest), first)
        return first

    def _join(self, subscription: SubscriptionId, rank: Rank, first: RowNumber) -> None:
        """Share the rows of an equal filter."""
        table = self._conjunctions.rows
        holder = table.holders[first]
        if not isinstance(holder, dict):
            assert holder is not None
            holder = {holder: table.ranks[first]}
            self._has_shared = True
            for row in (first, *self._further.get(first, ())):
                table.holders[row] = holder
        holder[subscription] = rank

    def _is_held_by(self, row: RowNumber, subscription: SubscriptionId) -> bool:
        holder = self._conjunctions.rows.holders[row]
        return subscription in holder if isinstance(holder, dict) else subscription == holder


def _digest_of(wanted: Filter) -> bytes | None:
    """Equal for filters that are equal in the types of their constants too; None for what cannot be written."""
    try:
        written = _encoder.encode(wanted)
    except (TypeError, ValueError, OverflowError):
        # A set of numbers and texts has no order; huge numbers and broken text do not travel. They are not shared.
        return None
    return hashlib.blake2b(written, digest_size=DIGEST_BYTES).digest()


def _tag_of(digest: bytes) -> Tag:
    return int.from_bytes(digest[:4])


def _tag_of_id(subscription: SubscriptionId) -> Tag:
    """The same in every process, and nothing that a peer could choose for many of its subscriptions."""
    hasher = _ID.copy()
    hasher.update(_PACK(*subscription))
    return int.from_bytes(hasher.digest())
