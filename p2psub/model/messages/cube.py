"""Between super-nodes: heartbeats, the directory, anti-entropy, splits.

The bootstrap speaks the directory part.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from p2psub.model.changes import LOG_BYTES, Change, Vector
from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId, Contact, Natural
from p2psub.model.messages.base import SMALL, Lane, Message
from p2psub.model.places import ENTRY_BYTES, Entry
from p2psub.model.reasons import SplitRefusal
from p2psub.model.ways import WAYS_TOLD_MAX, WayTo
from p2psub.model.weights import weight_of_changes


class CubeHeartbeat(Message, frozen=True):
    """A super-node to its cube neighbours on every beat; differing digests start an exchange."""

    lane: ClassVar[Lane] = Lane.LIVENESS
    cluster: ClusterId
    directory: bytes
    vector: bytes
    complete: bool


class DirectoryRequest(Message, frozen=True):
    """Any node may ask any other for the directory."""


class DirectoryResponse(Message, frozen=True):
    """All directory entries the sender knows; merging is idempotent.

    `may_found` is the bootstrap's word to one newcomer at a time: there is no overlay yet, found it.
    """

    entries: tuple[Entry, ...]
    may_found: bool = False

    @property
    def weight(self) -> int:
        return SMALL + ENTRY_BYTES * len(self.entries)


class VectorOffer(Message, frozen=True):
    """What the sender holds; answered with what it lacks."""

    vector: Vector

    @property
    def weight(self) -> int:
        return SMALL + LOG_BYTES * len(self.vector)


class ChangeBatch(Message, frozen=True):
    """Changes the receiver lacked, and what the sender holds."""

    lane: ClassVar[Lane] = Lane.BULK
    changes: tuple[Change, ...]
    vector: Vector
    complete: bool

    @property
    def weight(self) -> int:
        return SMALL + LOG_BYTES * len(self.vector) + weight_of_changes(self.changes)


class WayNews(Message, frozen=True):
    """A super-node to its neighbours and members: how long events take from it to some clusters, where that has moved.

    It goes by no answer, and is said again after a while.
    """

    ways: Annotated[tuple[WayTo, ...], msgspec.Meta(max_length=WAYS_TOLD_MAX)]


class SplitRequest(Message, frozen=True):
    """A founder asks the owner of a shortest prefix for half of it; repeated until granted, idempotent by cluster."""

    cluster: ClusterId
    founder: Contact


class SplitGrant(Message, frozen=True):
    """Half of the prefix will be the founder's once it holds every change of `vector`."""

    cluster: ClusterId
    prefix: Prefix
    version: Natural
    vector: Vector
    entries: tuple[Entry, ...]


class SplitRefused(Message, frozen=True):
    """Not now or not here; the entries tell where."""

    reason: SplitRefusal
    entries: tuple[Entry, ...]


class Filled(Message, frozen=True):
    """The founder holds all of the vector of its promise; repeated until the directory shows its entry."""

    cluster: ClusterId
    entry: Entry
    vector: Vector
