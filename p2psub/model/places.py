"""Places: the directory's entries (clusters in the cube) and a cluster's table (members on the ring)."""

from __future__ import annotations

import enum
from bisect import bisect_left
from operator import attrgetter
from typing import Annotated, NamedTuple

import msgspec

from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId, Contact, Epoch, Key, Natural, NodeId, Place


class Standing(enum.StrEnum):
    """Whether a cluster holds its prefix, or lost it: others gave it up, or it gave way to a better claim."""

    PRESENT = "present"
    LOST = "lost"


ENTRY_BYTES = 128
"""What one entry of the directory takes, roughly."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One cluster in the directory. The prefix is ordered by version; super-node and spares by epoch, then edition."""

    cluster: ClusterId
    prefix: Prefix
    version: Natural
    super_node: Contact
    epoch: Epoch
    members: Natural
    standing: Standing = Standing.PRESENT
    spares: tuple[Contact, ...] = ()
    """Members that can name the cluster's super-node, if this one is never heard of again."""
    edition: Natural = 0
    """Counts the spares named in one term."""


class TableVersion(NamedTuple):
    """Orders the tables of a cluster across terms."""

    epoch: Epoch
    n: Natural


_id_of = attrgetter("id")

Owners = Annotated[tuple[Contact, ...], msgspec.Meta(min_length=1)]


class Table(msgspec.Struct, frozen=True, array_like=True):
    """The members that hold keys, clockwise, as their super-node granted it.

    `seen` counts the members seen lately, alive or not: the bar for copies does not fall because a cut took them.
    """

    version: TableVersion
    owners: Owners
    seen: Natural

    def owner_of(self, key: Key) -> Contact:
        """successor(key) among the members of this table."""
        owners = self.owners
        return owners[bisect_left(owners, key, key=_id_of) % len(owners)]

    def holders_of(self, key: Key, count: int) -> list[Contact]:
        """The owner and the members after it, `count` in all where there are as many."""
        first = self._index_of(key)
        return [self.owners[(first + i) % len(self.owners)] for i in range(min(count, len(self.owners)))]

    def arc_start_of(self, node: NodeId) -> NodeId | None:
        """The member before `node`, where its arc begins; None if it holds no keys."""
        place = self._index_of(node)
        if place == len(self.owners) or self.owners[place].id != node:
            return None
        return self.owners[place - 1].id

    def after(self, node: NodeId) -> Contact:
        """The member that follows `node` clockwise."""
        place = self._index_of(node)
        is_member = place < len(self.owners) and self.owners[place].id == node
        return self.owners[(place + is_member) % len(self.owners)]

    def _index_of(self, place: Place) -> int:
        return bisect_left(self.owners, place, key=_id_of)
