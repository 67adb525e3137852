"""The configuration: impossible settings are refused at load, with the path of the field; defaults fit together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from p2psub.config import NodeConfig, PubSubConfig, RingConfig
from p2psub.errors import ConfigError
from p2psub.model.instants import Micros


@pytest.mark.parametrize(
    ("field", "broken"),
    [
        ("heartbeat_us", {"heartbeat_us": Micros(999)}),
        ("ring.successors", {"ring": RingConfig(successors=0)}),
        ("pubsub.copies", {"pubsub": PubSubConfig(copies=5)}),
        ("pubsub.copies", {"ring": RingConfig(successors=1)}),
    ],
)
def test_impossible_setting_is_refused_with_its_path(field: str, broken: dict[str, object]) -> None:
    """And with advice."""
    with pytest.raises(ConfigError) as refused:
        NodeConfig(**broken)  # type: ignore[arg-type]
    assert refused.value.field == field
    assert str(refused.value).startswith(f"{field}: ")


def test_extreme_settings_that_can_be_kept_are_accepted() -> None:
    """The limits themselves are allowed."""
    assert NodeConfig(heartbeat_us=Micros(1000)).tick_us == 500
    assert NodeConfig(ring=RingConfig(successors=2), pubsub=PubSubConfig(copies=3)).pubsub.copies == 3


def test_defaults_keep_what_the_protocols_assume() -> None:
    """Leases outlive a failover, suspicion comes before death, receivers remember longer than owners retry."""
    config = NodeConfig()
    liveness, cluster, cube = config.liveness, config.cluster, config.cube
    failover_ticks = liveness.dead_after_ticks + cluster.candidates * cluster.succession_ticks
    assert cluster.lease_ticks > failover_ticks
    assert liveness.ping_after_ticks < liveness.suspect_after_ticks < liveness.dead_after_ticks
    assert liveness.dead_after_ticks < liveness.unreachable_after_ticks
    assert config.pubsub.undelivered_ttl_margin_us > 0
    assert cube.lost_after_ticks > failover_ticks
    assert cluster.size_min <= cluster.size_target <= cluster.size_max
    assert config.pubsub.copies <= config.ring.successors + 1


def test_configuration_does_not_change_under_way() -> None:
    """A changed setting is a new configuration, checked again."""
    with pytest.raises(ConfigError):
        replace(NodeConfig(), heartbeat_us=Micros(0))
    with pytest.raises(AttributeError):
        NodeConfig().heartbeat_us = Micros(0)  # type: ignore[misc]
