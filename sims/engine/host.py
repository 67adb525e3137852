"""A simulated machine: one process at most, its links, its disk and its clocks."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Protocol

from p2psub.model.effects import Effect, Input
from p2psub.model.ids import ClusterId, Contact, NodeId
from p2psub.model.instants import Micros
from sims.engine.disk import Disk

if TYPE_CHECKING:
    from sims.engine.network import End


class Core(Protocol):
    """What the simulator runs: NodeCore, the bootstrap's RegistryCore, or a fake."""

    def step(self, inputs: list[Input], now: Micros) -> list[Effect]:
        """Advance by one batch of inputs."""
        ...


class Birth(Protocol):
    """Makes the core of one process start."""

    def __call__(
        self,
        host: Host,
        rng: Random,
        disk: Mapping[str, Mapping[tuple[object, ...], object]],
        contacts: tuple[Contact, ...],
    ) -> Core:
        """A core that has not stepped yet."""
        ...


class Power(enum.Enum):
    """Whether a machine runs the process, refuses connections because it does not, or does not answer at all."""

    ON = "on"
    PROCESS_DOWN = "process_down"
    GONE = "gone"


class Host:
    """One machine. `core` is None while its process is down."""

    __slots__ = (
        "birth",
        "cluster",
        "contact",
        "core",
        "dialing",
        "disk",
        "drift_ppm",
        "id",
        "inbox",
        "incarnation",
        "index",
        "knows_full",
        "links",
        "paused",
        "power",
        "skew_us",
        "started_us",
        "steady_us",
        "stored_due",
        "timer_at",
        "wall_offset_us",
    )

    def __init__(self, index: int, contact: Contact, cluster: ClusterId | None, birth: Birth) -> None:
        self.index = index
        self.contact = contact
        self.id: NodeId = contact.id
        self.cluster = cluster
        self.birth = birth
        self.core: Core | None = None
        self.power = Power.GONE
        self.incarnation = 0
        self.disk = Disk()
        self.inbox: list[Input] = []
        self.links: dict[NodeId, End] = {}
        self.dialing: dict[NodeId, int] = {}
        self.timer_at = -1
        self.stored_due = 0
        self.knows_full = False
        """Whether its process was told that the disk takes nothing."""
        self.paused = False
        self.wall_offset_us = 0
        self.skew_us = 0
        self.steady_us = 0
        """What the steady clock showed at the start of the process."""
        self.started_us = 0
        self.drift_ppm = 0
        """How much faster than true time the steady clock runs."""

    @property
    def is_up(self) -> bool:
        """Whether its process runs."""
        return self.core is not None

    def steady(self, true_us: int) -> Micros:
        """What the steady clock of its process shows at an instant."""
        passed_us = true_us - self.started_us
        return Micros(self.steady_us + passed_us + passed_us * self.drift_ppm // 1_000_000)

    def true_time(self, steady_us: int) -> int:
        """The first instant at which the steady clock shows so much."""
        return self.started_us - (self.steady_us - steady_us) * 1_000_000 // (1_000_000 + self.drift_ppm)


class CoreFault(Exception):
    """A core raised: our bug, with the node and the instant where it showed."""

    def __init__(self, host: Host, now: int, error: Exception) -> None:
        super().__init__(f"{host.contact.address} at {now / 1e6:.3f} s: {type(error).__name__}: {error}")
        self.host = host
        self.now = now
