"""What a broker knows of the way beyond a link: delays of its links, its brokers' time, and what waits there.

The paper takes it that nothing waits downstream, for brokers do not know (2.3.1). Here brokers may tell: each measures
how long what it sends had waited, and at every beat all know what was measured until then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from p2psub.model.instants import SECOND_US, Micros
from sims.experiments.mtep.mesh import Mesh
from sims.experiments.mtep.paths import Way

NEWEST_SHARE: Final = 1 / 8
"""How much the newest counts in the mean of what waited."""
BEAT_US: Final = Micros(5 * SECOND_US)
"""How old a figure may be, with the four hops that it may have to go up. A guess."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """The figures of a way as a stake has them."""

    mean_us_per_kb: float
    variance: float
    fixed_us: int


class Outlook:
    """The figures of every way; the same, and without waiting, unless brokers tell each other what waits."""

    def __init__(self, mesh: Mesh, process_us: int, client_us: int, *, is_waiting_told: bool) -> None:
        self._mesh = mesh
        self._process_us = process_us
        self._client_us = client_us
        self._is_waiting_told = is_waiting_told
        self._measured_us = [0.0] * len(mesh.links)
        self._told_us = list(self._measured_us)
        self._beat = 0
        self._known: dict[Way, Beyond] = {}

    def note_waited(self, link: int, waited_us: int, now: Micros) -> None:
        """An event leaves by a link, after so long in its queue."""
        if not self._is_waiting_told:
            return
        if now // BEAT_US > self._beat:
            self._beat = now // BEAT_US
            self._told_us = list(self._measured_us)
            self._known.clear()
        self._measured_us[link] += (waited_us - self._measured_us[link]) * NEWEST_SHARE

    def beyond(self, way: Way) -> Beyond:
        """What there is beyond a link from which this way leads on."""
        if way not in self._known:
            self._known[way] = self._summed(way)
        return self._known[way]

    def _summed(self, way: Way) -> Beyond:
        links = [self._mesh.links[number] for number in way]
        # The broker below the link and those below every link of the way process it; then it goes to the subscriber.
        fixed_us = (len(way) + 1) * self._process_us + self._client_us
        return Beyond(
            sum(link.mean_us_per_kb for link in links),
            sum(link.deviation_us_per_kb**2 for link in links),
            fixed_us + int(sum(self._told_us[number] for number in way)),
        )
