"""The change set: every subscription and advertisement of the overlay, as numbered changes per term.

A change counts only once every change before it in its log is here too; the vector names the highest such number
per log. A node that compared the highest number seen instead would take a hole for knowledge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from p2psub.admission.advertisement_graph import AdvertisementGraph
from p2psub.model.batches import batches_of
from p2psub.model.changes import Change, ChangeNumber, LogId, Vector
from p2psub.model.circle import is_in_arc
from p2psub.model.content import Advertisement, Declaration, DeclarationState, keys_of
from p2psub.model.ids import Key, NodeId, Place, SubscriptionId
from p2psub.model.step import Step
from p2psub.model.vectors import vector_digest
from p2psub.model.weights import weight_of_change

CHANGE_NAMESPACE: Final = "change"


class ChangeSet:
    """All changes that this node holds, and which of them were refused. Adding is idempotent, in any order."""

    def __init__(self, step: Step, shards: int) -> None:
        self._step = step
        self._shards = shards
        self._logs: dict[LogId, list[Change]] = {}
        self._ahead: dict[LogId, dict[int, Change]] = {}
        self._current: dict[SubscriptionId, Change] = {}
        self._keys: dict[SubscriptionId, tuple[Key, ...]] = {}
        self._digest: bytes | None = None
        self._vector: Vector | None = None
        self.vector: dict[LogId, int] = {}
        self._in_order: list[LogId] = []
        """Its logs."""
        self.advertised: dict[SubscriptionId, Advertisement] = {}
        """What stands; few, and looked at more often than subscriptions are."""
        self.offers = AdvertisementGraph()
        """The same, by what is offered."""
        self._refused: dict[ChangeNumber, None] = {}
        self._turned_down: dict[SubscriptionId, int] = {}

    def recover(self, changes: Iterable[Change]) -> None:
        """After a restart: what was durable is still here."""
        for change in changes:
            self.add(change)

    def learn(self, change: Change) -> bool:
        """Take a change and make it durable; True if it is new."""
        if not self.add(change):
            return False
        self._step.write(CHANGE_NAMESPACE, change.number, change)
        return True

    def add(self, change: Change) -> bool:
        """Take a change; True if it is new. It counts in the vector as soon as no earlier one is missing."""
        log, n = change.number
        have = self.vector.get(log, 0)
        ahead = self._ahead.get(log, {})
        if n <= have or n in ahead:
            return False
        self._ahead.setdefault(log, {})[n] = change
        ahead = self._ahead[log]
        line = self._logs.setdefault(log, [])
        while (following := ahead.pop(len(line) + 1, None)) is not None:
            line.append(following)
        if len(line) > have:
            self.vector[log] = len(line)
            self._digest = self._vector = None
            if not have:
                self._in_order = sorted(self.vector)
        self._make_current(change)
        return True

    def _make_current(self, change: Change) -> None:
        record = change.record
        known = self._current.get(record.id)
        if known is None or known.record.version < record.version:
            self._current[record.id] = change
            self._keys[record.id] = keys_of(record, self._shards)
            if isinstance(record, Advertisement):
                self._make_current_offer(record)

    def _make_current_offer(self, record: Advertisement) -> None:
        if record.state is DeclarationState.ACTIVE:
            self.advertised[record.id] = record
            self.offers.advertise(record.id, record.filter, record.rate)
        elif self.advertised.pop(record.id, None) is not None:
            self.offers.withdraw(record.id)

    def holds(self, number: ChangeNumber) -> bool:
        """Whether a change and all before it in its log are here."""
        return self.vector.get(number.log, 0) >= number.n

    def refuse(self, number: ChangeNumber) -> None:
        """An owner of our cluster voted against a change: every later cast of it gets the same answer."""
        self._refused[number] = None

    def is_refused(self, number: ChangeNumber) -> bool:
        return number in self._refused

    def turn_down(self, record: Declaration) -> None:
        """A declaration of our cluster was refused somewhere; its end must not be taken for a lapse."""
        self._turned_down[record.id] = record.version

    def is_turned_down(self, record: Declaration) -> bool:
        """Whether this very version was refused: a later one is asked for anew."""
        return self._turned_down.get(record.id) == record.version

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
            # As `vector_of` has it; logs are few and come seldom, while their numbers rise with every change.
            self._vector = tuple([(log, self.vector[log]) for log in self._in_order])
        return self._vector

    def contains(self, vector: Vector) -> bool:
        """Whether everything that `vector` names is here."""
        return all(self.vector.get(log, 0) >= n for log, n in vector)

    def missing_in(self, vector: dict[LogId, int], most: int) -> list[Change]:
        """Up to `most` changes that a holder of `vector` lacks, each log in order."""
        missing: list[Change] = []
        if vector == self.vector:
            return missing
        for log, n in self.as_vector():
            have = vector.get(log, 0)
            if have < n:
                missing += self._logs[log][have : have + most - len(missing)]
            if len(missing) >= most:
                break
        return missing

    def batch_for(self, vector: dict[LogId, int], most: int) -> tuple[Change, ...]:
        """The same, and no more than one message should carry."""
        missing = self.missing_in(vector, most)
        return tuple(missing if len(missing) < 2 else next(batches_of(missing, weight_of_change, most)))

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
