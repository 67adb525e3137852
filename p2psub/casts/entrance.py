"""By which super-node a multicast enters a half: any one there reaches each target once, and some take less time.

It enters at a target, which costs no transfer that is not needed anyway, or at the neighbour across the dimension. Of
these it is the one that takes least time for the sum of the targets: in the queue before our link and on the link, and
from there as that super-node says. Of what is not known to take time the one nearest to the neighbour comes first, so
that few links are opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from p2psub.casts import spread
from p2psub.casts.ways import Ways
from p2psub.config import CubeConfig
from p2psub.model.graycode import WHOLE, Prefix, overlaps
from p2psub.model.ids import ClusterId, Contact, NodeId
from p2psub.model.messages.casts import CastRequest
from p2psub.model.places import Standing
from p2psub.model.stakes import BYTES_PER_KB
from p2psub.model.ways import Way
from p2psub.overlay.directory import Directory
from p2psub.overlay.hypercube import Hypercube
from p2psub.overlay.liveness import Liveness

_PRESENT: Final = Standing.PRESENT
"""Looked up once: a member of an enumeration costs as much as a call."""
_COMPARED_MAX: Final = 8
"""Of so many targets at most the ways are compared: each costs a look at the ways to all the others. A guess."""


class Entrances:
    """Whom a super-node hands a half to."""

    def __init__(
        self,
        config: CubeConfig,
        cube: Hypercube,
        directory: Directory,
        liveness: Liveness,
        ways: Ways,
        over: Callable[[NodeId], Way],
    ) -> None:
        self._is_by_load = config.paths == "load"
        self._cube = cube
        self._directory = directory
        self._liveness = liveness
        self._ways = ways
        self._over = over
        """How long our link to a super-node takes for what is queued now."""

    def receiver(
        self, half: Prefix, stops: Sequence[ClusterId], request: CastRequest, tries: int, first: Contact | None
    ) -> Contact | None:
        """The entrance; and for later tries the neighbour, and every other super-node there, in turn after `first`."""
        filling = self._cube.filling
        if filling is not None and filling.prefix == half:
            return filling.founder
        own, by_prefix = self._cube.place or WHOLE, self._directory.by_prefix()
        across = spread.neighbour(own, len(half) - 1, tuple(by_prefix)) if len(half) <= len(own) else None
        entrance = self._entrance(half, across, stops, request) if tries == 0 else None
        if entrance is not None:
            return entrance
        neighbour = None if across is None else by_prefix[across]
        line = dict.fromkeys([first, neighbour, *self._directory.contacts_in(half)])
        able = [contact for contact in line if contact is not None and contact != by_prefix.get(own)]
        live = [contact for contact in able if not self._liveness.is_dead(contact.id)] or able
        return live[tries % len(live)] if live else None

    def _entrance(
        self, half: Prefix, across: Prefix | None, stops: Sequence[ClusterId], request: CastRequest
    ) -> Contact | None:
        """For a broadcast, which has no stops, the neighbour; none if all are dead to us."""
        by_prefix = self._directory.by_prefix()
        places = self._targets(half, across or half, stops)[:_COMPARED_MAX] if self._is_by_load else []
        if across is not None and across not in places:
            places.append(across)
        able = [by_prefix[place] for place in places if not self._liveness.is_dead(by_prefix[place].id)]
        return self._quickest(able, stops, request) if len(able) > 1 else next(iter(able), None)

    def _targets(self, half: Prefix, near: Prefix, stops: Sequence[ClusterId]) -> list[Prefix]:
        """The targets in a half, those first that share most bits with the neighbour."""
        places: list[Prefix] = []
        for cluster in stops:
            entry = self._directory.get(cluster)
            if entry is not None and entry.standing is _PRESENT and overlaps(half, entry.prefix):
                places.append(entry.prefix)
        if len(places) > 1:
            places.sort(key=lambda place: -_shared_bits(place, near))
        return places

    def _quickest(self, able: list[Contact], stops: Sequence[ClusterId], request: CastRequest) -> Contact:
        """The one with the least sum, and of equals the first."""
        sums = [self._sum(contact.id, stops) for contact in able]
        if not any(map(any, sums)):
            return able[0]
        size_bytes = request.weight
        times_us = [fixed_us + mean_us_per_kb * size_bytes // BYTES_PER_KB for mean_us_per_kb, fixed_us in sums]
        return able[times_us.index(min(times_us))]

    def _sum(self, hop: NodeId, stops: Sequence[ClusterId]) -> tuple[int, int]:
        """What a KB takes to all stops by way of a super-node, and what does not depend on the size."""
        link = self._over(hop)
        mean_us_per_kb, fixed_us = link.mean_us_per_kb * len(stops), link.fixed_us * len(stops)
        for cluster in stops:
            way = self._ways.beyond(hop, cluster)
            mean_us_per_kb += way.mean_us_per_kb
            fixed_us += way.fixed_us
        return mean_us_per_kb, fixed_us


def _shared_bits(one: Prefix, other: Prefix) -> int:
    shared = 0
    for bit, other_bit in zip(one, other, strict=False):
        if bit != other_bit:
            break
        shared += 1
    return shared
