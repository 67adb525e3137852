"""A peer that speaks the protocol and lies: whatever well-typed message it sends, no node of the overlay falls over."""

from __future__ import annotations

from random import Random
from typing import Any

import hypothesis.strategies as st
import msgspec
from hypothesis import HealthCheck, Phase, given, seed, settings

from p2psub.model.changes import LogId
from p2psub.model.effects import Received
from p2psub.model.ids import Contact, Epoch
from p2psub.model.instants import Stamp
from p2psub.model.messages import Message
from p2psub.model.places import TableVersion
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Stage
from tests.oracles.instances import MESSAGE_CLASSES, instances_of

LIES = 400
"""Lists of messages; CI bounds the number, not the time."""

any_messages = st.lists(st.one_of([instances_of(cls) for cls in MESSAGE_CLASSES]), min_size=1, max_size=6)


class Liar:
    """Puts real names into arbitrary messages, so that they get past the first look."""

    def __init__(self, stage: Stage, rng: Random) -> None:
        self._rng = rng
        statuses = stage.statuses()
        self.contacts = [host.contact for host in stage.saboteur.peers()]
        self._epochs = [status.epoch for status in statuses]
        self._clusters = [status.cluster for status in statuses if status.cluster is not None]
        self._tables = [status.table for status in statuses]

    def plausible(self, value: Any) -> Any:
        """The same value with some of its names replaced by real ones."""
        rng = self._rng
        if isinstance(value, Epoch):
            return rng.choice(self._epochs) if rng.random() < 0.7 else value
        if isinstance(value, TableVersion) and rng.random() < 0.5:
            return rng.choice(self._tables)
        if isinstance(value, LogId):
            return LogId(rng.choice(self._clusters), self.plausible(value.epoch))
        if isinstance(value, Contact):
            return rng.choice(self.contacts) if rng.random() < 0.5 else value
        if isinstance(value, tuple):
            parts = map(self.plausible, value)
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if isinstance(value, msgspec.Struct):
            return type(value)(*(self._field(value, name) for name in value.__struct_fields__))
        return value

    def _field(self, value: msgspec.Struct, name: str) -> Any:
        if name == "cluster" and self._rng.random() < 0.8:
            return self._rng.choice(self._clusters)
        return self.plausible(getattr(value, name))


def test_no_lie_takes_a_node_down() -> None:
    """Every handler survives arbitrary well-typed messages, and so does everything periodic afterwards."""
    stage = Stage(Scenario(clusters=2, members=4, seconds=200.0, faults=(), schedules=()), 0)
    assert stage.form()
    world, rng = stage.world, Random(1)
    liar = Liar(stage, rng)
    hosts = stage.saboteur.peers()

    @seed(1)
    @settings(
        max_examples=LIES, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck]
    )
    @given(any_messages)
    def lie(messages: list[Message]) -> None:
        host = rng.choice(hosts)
        assert host.core is not None
        told = [liar.plausible(message) for message in messages]
        now = host.steady(world.now)
        host.core.step([Received(rng.choice(liar.contacts), told, Stamp(1, 1))], now)

    lie()
    world.run_for(20_000_000)
    assert all(host.core is not None for host in hosts)
