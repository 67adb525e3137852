"""The change set: every subscription and advertisement of the overlay, as numbered changes per term.

A change counts only once every change before it in its stream is here too; the vector names the highest such number
per stream. Whoever compared the highest number seen instead would take a hole for knowledge.
"""

from __future__ import annotations

from collections.abc import Iterator

from p2psub.model.batches import batches_of
from p2psub.model.changes import Change, ChangeNumber, LogId, Vector, weight_of
from p2psub.model.circle import is_in_arc
from p2psub.model.content import Advertisement, Declaration, DeclarationState, keys_of
from p2psub.model.ids import Key, NodeId, Place, SubscriptionId
from p2psub.model.vectors import vector_digest, vector_of


class ChangeSet:
    """All changes that this node holds. Adding is idempotent, in any order."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._streams: dict[LogId, list[Change]] = {}
        self._ahead: dict[LogId, dict[int, Change]] = {}
        self._current: dict[SubscriptionId, Change] = {}
        self._keys: dict[SubscriptionId, tuple[Key, ...]] = {}
        self._digest: bytes | None = None
        self._vector: Vector | None = None
        self.vector: dict[LogId, int] = {}
        self.advertised: dict[SubscriptionId, Advertisement] = {}
        """What stands; few, and looked at more often than subscriptions are."""

    def add(self, change: Change) -> bool:
        """Take a change; True if it is new. It counts in the vector as soon as no earlier one is missing."""
        stream, n = change.number
        have = self.vector.get(stream, 0)
        ahead = self._ahead.get(stream, {})
        if n <= have or n in ahead:
            return False
        self._ahead.setdefault(stream, {})[n] = change
        ahead = self._ahead[stream]
        line = self._streams.setdefault(stream, [])
        while (following := ahead.pop(len(line) + 1, None)) is not None:
            line.append(following)
        if len(line) > have:
            self.vector[stream] = len(line)
            self._digest = self._vector = None
        self._make_current(change)
        return True

    def _make_current(self, change: Change) -> None:
        record = change.record
        known = self._current.get(record.id)
        if known is None or known.record.version < record.version:
            self._current[record.id] = change
            self._keys[record.id] = keys_of(record, self._shards)
            if isinstance(record, Advertisement):
                self.advertised[record.id] = record
                if record.state is DeclarationState.ENDED:
                    del self.advertised[record.id]

    def holds(self, number: ChangeNumber) -> bool:
        """Whether a change and all before it in its stream are here."""
        return self.vector.get(number.stream, 0) >= number.n

    def current(self, id_: SubscriptionId) -> Change | None:
        """The change that last concerned a declaration."""
        return self._current.get(id_)

    def keys(self, id_: SubscriptionId) -> tuple[Key, ...]:
        """Where the owners of a known declaration are."""
        return self._keys[id_]

    @property
    def digest(self) -> bytes:
        if self._digest is None:
            self._digest = vector_digest(self.as_vector())
        return self._digest

    def as_vector(self) -> Vector:
        if self._vector is None:
            self._vector = vector_of(self.vector)
        return self._vector

    def contains(self, vector: Vector) -> bool:
        """Whether everything that `vector` names is here."""
        return all(self.vector.get(stream, 0) >= n for stream, n in vector)

    def missing_in(self, vector: dict[LogId, int], most: int) -> list[Change]:
        """Up to `most` changes that a holder of `vector` lacks, each stream in order."""
        missing: list[Change] = []
        if vector == self.vector:
            return missing
        for stream in sorted(self._streams):
            line, have = self._streams[stream], vector.get(stream, 0)
            missing += line[have : have + most - len(missing)]
            if len(missing) >= most:
                break
        return missing

    def batch_for(self, vector: dict[LogId, int], most: int) -> tuple[Change, ...]:
        """The same, and no more than one message should carry."""
        return tuple(next(batches_of(self.missing_in(vector, most), weight_of, most), ()))

    def active(self) -> Iterator[Declaration]:
        """Every standing declaration, in the order in which they became known."""
        for change in self._current.values():
            if change.record.state is DeclarationState.ACTIVE:
                yield change.record

    def active_in_arc(self, low: Place, high: Place) -> list[Change]:
        """The standing subscriptions with a key in (low, high]."""
        return [
            change
            for change in self._current.values()
            if change.record.state is DeclarationState.ACTIVE
            and any(is_in_arc(low, key, high) for key in self._keys[change.record.id])
        ]

    def active_of(self, node: NodeId) -> list[Declaration]:
        """The standing declarations of one peer."""
        return [record for record in self.active() if record.id.node == node]

    def ended_of(self, node: NodeId, incarnation: int) -> list[SubscriptionId]:
        """What one process of a peer declared, and does no more."""
        process, ended = (node, incarnation), DeclarationState.ENDED
        return [id_ for id_, c in self._current.items() if id_[:2] == process and c.record.state is ended]
