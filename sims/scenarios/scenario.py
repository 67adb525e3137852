"""What one simulated run consists of: sizes, phases, faults, load. Readable from a TOML file."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec

from p2psub.config import NodeConfig
from p2psub.errors import ConfigError
from sims.engine.faults import KINDS
from sims.workloads.load import Load

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

DEFAULT_FAULTS = ("crash", "partition", "loss", "duplicate", "wipe")
FULL_SIZE = (8, 8, 200.0)
"""Clusters, members and seconds from which on a thousand obligations are required."""
OBLIGATIONS_MIN = 1000
SHAPES = ((3, 3), (1, 16), (5, 12), (12, 4), (8, 8))
"""Clusters and members: small rings, one large ring, few large ones, many small ones, and the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One kind of run; with a seed it is one run. Times are virtual seconds."""

    clusters: int = 8
    members: int = 8
    seconds: float = 200.0
    faults: tuple[str, ...] = DEFAULT_FAULTS
    schedules: tuple[str, ...] = ("mixed",)
    """Adversarial schedules by name (sims/scenarios/schedules.py); "mixed" draws some per seed."""
    load: Load = field(default_factory=Load)
    formation_seconds_max: float = 40.0
    calm_seconds: float = 8.0
    """From the start of the load to the first fault: the cube is settled, so its costs can be checked."""
    quiet_seconds: float = 66.0
    """From the last fault to the end: outboxes must be empty 60 heartbeats into it."""
    bandwidth: int | None = None
    """Bytes per second of every link; None has no limit."""
    cube_bandwidths: tuple[int, ...] = ()
    """The same of links between clusters, if they are slower: each seed takes the next."""
    cube_loads: tuple[float, ...] = ()
    """How much of it is offered to the busiest of them in bodies: each seed takes the next, and publishes as often."""
    cube_slow_share: float = 0.0
    """Part of the pairs of clusters whose links have a quarter of that; each seed draws its own."""
    bootstrap: bool | None = None
    """Whether the bootstrap runs; None runs it in every other seed."""
    refused_share: float = 0.0
    """Of the subscriptions: those that the owners of a cluster vote against, in each cluster others."""
    late_cluster: bool = False
    """The last cluster is founded in the middle of the fault window."""
    node: NodeConfig = field(default_factory=NodeConfig)
    """The numbers that all nodes go by."""

    def __post_init__(self) -> None:
        for kind in self.faults:
            if kind not in KINDS:
                raise ConfigError("faults", f"{kind!r} is not a valid fault; choose from {', '.join(KINDS)}")
        least = self.formation_seconds_max / 4 + self.calm_seconds + self.quiet_seconds
        if not least <= self.seconds < math.inf:
            raise ConfigError("seconds", f"must be at least {least:.0f}, for formation, calm and quiet")
        if self.clusters < 1 or self.members < 1:
            raise ConfigError("clusters", "a run needs at least one cluster of one member")

        if self.cube_loads and not (self.cube_bandwidths and self.load.body_bytes):
            raise ConfigError("cube_loads", "is a share of cube_bandwidths in bodies of load.body_bytes; give both")
        if min((*self.cube_bandwidths, *self.cube_loads), default=1) <= 0:
            raise ConfigError("cube_bandwidths", "a link without bandwidth, or load, shows nothing; give more than 0")
        if not 0.0 <= self.refused_share <= 1.0:
            raise ConfigError("refused_share", "is a part of 1; give a number from 0 to 1")
        if not 0.0 <= self.cube_slow_share <= 1.0 or (self.cube_slow_share and not self.cube_bandwidths):
            raise ConfigError("cube_slow_share", "is a part of 1, of links with cube_bandwidths; give both")

    @property
    def obligations_min(self) -> int:
        """Below this a seed counts as vacuous."""
        full = (self.clusters, self.members, self.seconds)
        return OBLIGATIONS_MIN if all(has >= wants for has, wants in zip(full, FULL_SIZE, strict=True)) else 1


def shaped(scenario: Scenario, seed: int) -> Scenario:
    """The scenario in a shape that the seed draws."""
    clusters, members = Random(f"{seed}/shape").choice(SHAPES)
    return replace(scenario, clusters=clusters, members=members)


def with_cube_links(scenario: Scenario, seed: int) -> Scenario:
    """The scenario with the bandwidth and the load of cube links that are the seed's in turn.

    Of an event that every cluster wants, the links of the last dimension carry a half: those are the busiest.
    """
    bandwidths, loads = scenario.cube_bandwidths, scenario.cube_loads
    if not bandwidths:
        return scenario
    bandwidth, load = bandwidths[seed % len(bandwidths)], scenario.load
    if loads:
        share = loads[seed // len(bandwidths) % len(loads)]
        assert load.body_bytes is not None, "the scenario was checked"
        load = replace(load, events_per_second=2 * share * bandwidth / load.body_bytes)
    return replace(scenario, cube_bandwidths=(bandwidth,), cube_loads=(), load=load)


def read_scenario(path: Path) -> Scenario:
    """A scenario file: TOML whose keys are the fields of `Scenario`; those of its parts are under [load] and [node]."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        _refuse_unknown(path, told, Scenario())
        return msgspec.convert(told, Scenario, strict=True)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), f"is not valid TOML: {error}; docs/simulator.md shows one") from error
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), "is not text; write it in UTF-8") from error
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read ({error.strerror}); check the path") from error
    except msgspec.ValidationError as error:
        raise ConfigError(str(path), str(error)) from error


def _refuse_unknown(path: Path, told: object, part: DataclassInstance) -> None:
    """A misspelt key would silently mean the default."""
    if not isinstance(told, dict):
        return
    known = {field.name: getattr(part, field.name) for field in fields(part)}
    for key in sorted(told):
        if key not in known:
            raise ConfigError(str(path), f"{key!r} is not a valid key; choose from {', '.join(sorted(known))}")
        if is_dataclass(known[key]):
            _refuse_unknown(path, told[key], known[key])
