"""The match index for many subscriptions: every conjunction is a row, filed where few events come by (see `filing`).

An event gathers candidates from the homes that its values lead to; the kernel compares all their spans at once; what is
left of a row's predicates is tried one by one, each at most once per event. Equal filters share their rows.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from typing import Final

import msgspec

from p2psub.matching.buckets import RowNumber
from p2psub.matching.candidates import Candidates
from p2psub.matching.conjunctions import Conjunctions
from p2psub.matching.matcher import Wanted
from p2psub.matching.predicates import content_of, is_defined
from p2psub.matching.sizes import DEFAULTS, Sizes
from p2psub.matching.store import Truths
from p2psub.model.content import Event, Filter
from p2psub.model.ids import SubscriptionId

Places = RowNumber | tuple[RowNumber, ...]
"""The rows of a filter. One that nothing can satisfy has none."""
Found = dict[int, SubscriptionId]
"""Who wants an event, by rank: the order of first adding."""

DIGEST_BYTES: Final = 15
"""Far too many to be met by chance or on purpose; with one more, Python takes 16 bytes more for each."""

_encoder = msgspec.msgpack.Encoder(order="deterministic")


class Engine:
    """What a `GrowingMatcher` becomes; the same methods, for any number of subscriptions."""

    __slots__ = ("_batch", "_conjunctions", "_digests", "_has_shared", "_idle", "_places", "_ranks")

    def __init__(self, sizes: Sizes = DEFAULTS) -> None:
        self._batch = sizes.batch
        self._conjunctions = Conjunctions(sizes)
        self._digests: dict[SubscriptionId, bytes] = {}
        self._places: dict[bytes, Places] = {}
        """By digest of a filter: those with equal filters share their rows."""
        self._ranks = itertools.count()
        self._has_shared = False
        """Whether some row was ever shared; most matchers have none, and need not look."""
        self._idle: dict[SubscriptionId, int] = {}
        """Ranks of subscriptions without rows."""

    def __len__(self) -> int:
        return len(self._digests)

    def add(self, subscription: SubscriptionId, wanted: Filter) -> None:
        """Take a subscription up, in place of one with the same id."""
        rank = self._forget(subscription)
        self._hold(subscription, wanted, next(self._ranks) if rank is None else rank)
        self._conjunctions.tend()

    def remove(self, subscription: SubscriptionId) -> None:
        self._forget(subscription)
        self._conjunctions.tend()

    def match(self, event: Event) -> list[SubscriptionId]:
        [found] = self._found((event,))
        return _in_order(found)

    def match_batch(self, events: Sequence[Event]) -> list[list[SubscriptionId]]:
        """Who wants each of the events, in the order of first adding."""
        batches = (self._found(events[start : start + self._batch]) for start in range(0, len(events), self._batch))
        return [_in_order(found) for batch in batches for found in batch]

    def match_many(self, events: Sequence[Event], indexes: Sequence[int], wanted: Wanted) -> None:
        by_rank: dict[int, tuple[SubscriptionId, list[int]]] = {}
        for start in range(0, len(indexes), self._batch):
            chosen = indexes[start : start + self._batch]
            for index, found in zip(chosen, self._found([events[index] for index in chosen]), strict=True):
                for rank, subscription in found.items():
                    if rank not in by_rank:
                        by_rank[rank] = subscription, []
                    by_rank[rank][1].append(index)
        for rank in sorted(by_rank):
            subscription, indexes_found = by_rank[rank]
            wanted.setdefault(subscription, []).extend(indexes_found)

    def _found(self, events: Sequence[Event]) -> list[Found]:
        contents = [content_of(event) for event in events]
        truths: list[Truths] = [{} for _ in events]
        known = [truth.get for truth in truths]
        passing: list[list[RowNumber]] = [[] for _ in events]
        rests, holds_all = self._conjunctions.rows.rests, self._conjunctions.store.holds_all
        for row, event in zip(*Candidates(self._conjunctions, contents, truths).passing(), strict=True):
            rest = rests[row]
            if rest is not None:
                is_true = known[event](rest)
                if is_true is None:
                    is_true = holds_all(rest, contents[event], truths[event])
                if not is_true:
                    continue
            passing[event].append(row)
        return [self._holders(rows) for rows in passing]

    def _holders(self, rows: list[RowNumber]) -> Found:
        holders, ranks = self._conjunctions.rows.holders, self._conjunctions.rows.ranks
        if not self._has_shared:
            return {ranks[row]: holders[row] for row in rows}  # type: ignore[misc]
        found: Found = {}
        for row in rows:
            holder = holders[row]
            if isinstance(holder, dict):
                found.update((rank, subscription) for subscription, rank in holder.items())
            elif holder is not None:
                found[ranks[row]] = holder
        return found

    # Who holds which rows

    def _hold(self, subscription: SubscriptionId, wanted: Filter, rank: int) -> None:
        # What has no digest is shared with nobody; a rank is shorter than any digest.
        digest = _digest_of(wanted) or rank.to_bytes(8)
        self._digests[subscription] = digest
        places = self._places.get(digest)
        if places is None:
            self._places[digest] = self._hold_alone(subscription, wanted, rank)
        else:
            self._join(subscription, rank, _rows_at(places))

    def _hold_alone(self, subscription: SubscriptionId, wanted: Filter, rank: int) -> Places:
        rows: list[RowNumber] = []
        for term in wanted.terms:
            if all(is_defined(predicate.operator, predicate.constant) for predicate in term):
                rows += self._conjunctions.file(term)
        table = self._conjunctions.rows
        for row in rows:
            table.holders[row], table.ranks[row] = subscription, rank
        if not rows:
            self._idle[subscription] = rank
        return rows[0] if len(rows) == 1 else tuple(rows)

    def _join(self, subscription: SubscriptionId, rank: int, rows: Sequence[RowNumber]) -> None:
        """Share the rows of an equal filter."""
        if not rows:
            self._idle[subscription] = rank
            return
        holders = self._conjunctions.rows.holders
        holder = holders[rows[0]]
        if not isinstance(holder, dict):
            assert holder is not None
            holder = {holder: self._conjunctions.rows.ranks[rows[0]]}
            self._has_shared = True
            for row in rows:
                holders[row] = holder
        holder[subscription] = rank

    def _forget(self, subscription: SubscriptionId) -> int | None:
        """Take a subscription out and return its rank; None if it is unknown."""
        digest = self._digests.pop(subscription, None)
        if digest is None:
            return None
        if subscription in self._idle:
            # There may be others with the same filter; that it has no rows is soon found out again.
            self._places.pop(digest, None)
            return self._idle.pop(subscription)
        rows = _rows_at(self._places[digest])
        table = self._conjunctions.rows
        holder = table.holders[rows[0]]
        if isinstance(holder, dict):
            rank = holder.pop(subscription)
            if len(holder) == 1:
                [(last, rank_of_last)] = holder.items()
                for row in rows:
                    table.holders[row], table.ranks[row] = last, rank_of_last
            return rank
        rank = table.ranks[rows[0]]
        del self._places[digest]
        for row in rows:
            self._conjunctions.unfile(row)
        return rank


def _in_order(found: Found) -> list[SubscriptionId]:
    return [found[rank] for rank in sorted(found)] if len(found) > 1 else list(found.values())


def _rows_at(places: Places) -> tuple[RowNumber, ...]:
    return (places,) if isinstance(places, int) else places


def _digest_of(wanted: Filter) -> bytes | None:
    """Equal for filters that are equal in the types of their constants too; None for what cannot be written."""
    try:
        written = _encoder.encode(wanted)
    except (TypeError, ValueError, OverflowError):
        # A set of numbers and texts has no order; huge numbers and broken text do not travel. They are not shared.
        return None
    return hashlib.blake2b(written, digest_size=DIGEST_BYTES).digest()
