"""Which member answers for the keys of one that fell, and from when on: read off the tables as members adopt them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from p2psub.model.ids import ClusterId, NodeId
from p2psub.model.records import Kind, Record
from p2psub.model.status import NodeStatus
from sims.engine.host import Host
from sims.engine.world import World, status_of


@dataclass(slots=True)
class Succession:
    """One owner that fell; `successor_us` is when its successor could acknowledge for its keys, None if never."""

    at_us: int
    cluster: ClusterId
    fallen: NodeId
    super_node: bool
    successor_us: int | None = None


class Successions:
    """Watches every table that is adopted while a succession is open."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._open: list[Succession] = []
        world.trace.hook(Kind.TABLE, self._look_later)

    def fell(self, host: Host, said: NodeStatus | None, *, super_node: bool) -> Succession | None:
        """A machine is about to fall: if it alone serves its keys, its successor is looked for from now on."""
        if host.cluster is None or said is None or not said.serves or self._has_successor(host):
            return None
        succession = Succession(self._world.now, host.cluster, host.id, super_node)
        self._open.append(succession)
        return succession

    def _has_successor(self, falling: Host) -> bool:
        """Whether a newer table, which the falling machine has not heard of, gives its keys to another already."""
        others = [host for host in self._world.hosts if host.cluster == falling.cluster and host is not falling]
        heard = [(host, said) for host in others if (said := status_of(host)) is not None]
        return any(said.serves and _owner(said, falling.id) == host.id for host, said in heard)

    def _look_later(self, _: int, record: Record) -> None:
        host = self._world.network.host_of(record.node)
        if self._open and host is not None:
            # The lease is renewed in the step that adopts the table: look when that step is over.
            self._world.agenda.after(0, self._look, host)

    def _look(self, host: Host) -> None:
        said = status_of(host)
        if said is None or not said.serves:
            return
        for succession in self._open:
            if succession.cluster == host.cluster and _owner(said, succession.fallen) == host.id:
                succession.successor_us = self._world.now
        self._open = [succession for succession in self._open if succession.successor_us is None]


def _owner(said: NodeStatus, place: NodeId) -> NodeId | None:
    """The owner of that place by the table that a member obeys."""
    return said.owners[bisect_left(said.owners, place) % len(said.owners)] if said.owners else None
