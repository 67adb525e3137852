"""A person is told how far the peer has come and what it waits for; it is ready only when it waits for nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from p2psub.api.join_stages import PATIENCE_S, stage_of
from p2psub.model.status import LifeStage, Role
from tests.unit.runtime.control.fakes import NODE

LOST = {"cluster": None, "super_node": None, "role": Role.JOINING, "table": None, "serves": False, "prefix": None}
FOUNDER = {"stage": LifeStage.FOUNDING, "role": Role.SUPER_NODE}


@pytest.mark.parametrize(
    ("changes", "links", "name", "missing"),
    [
        (LOST, 0, LifeStage.SEEKING, "neither the bootstrap nor a known peer answers"),
        (LOST, 1, LifeStage.SEEKING, "looking for a cluster"),
        ({"super_node": None, "role": Role.JOINING}, 3, LifeStage.SEEKING, "no super-node is heard"),
        ({"super_node": None}, 3, "waiting", "no super-node is heard"),
        ({"role": Role.JOINING, "table": None}, 3, LifeStage.JOINING, "entering the ring"),
        (FOUNDER | {"prefix": None}, 3, LifeStage.FOUNDING, "its place in the cube"),
        ({"role": Role.SUPER_NODE, "filling": True}, 3, LifeStage.FILLING, "its place in the cube"),
        ({"role": Role.SUPER_NODE, "hears_no_member": True}, 3, "cut off", "hears no other member"),
        ({"stage": LifeStage.LEAVING}, 3, LifeStage.LEAVING, "gives away what it holds"),
        ({"table": None, "serves": False}, 3, "indexing", "grant a table"),
        ({"serves": False}, 3, "waiting", "lease has run out"),
    ],
)
def test_a_stage_says_what_is_missing(changes: dict[str, Any], links: int, name: str, missing: str) -> None:
    """In words that name what a person can look at."""
    stage = stage_of(msgspec.structs.replace(NODE, **changes), links, uptime_s=60.0)
    assert stage.name == name
    assert missing in (stage.missing or "")


@pytest.mark.parametrize("role", [Role.MEMBER, Role.CANDIDATE, Role.SUPER_NODE])
def test_peer_that_serves_in_a_ring_is_ready(role: Role) -> None:
    """In whatever role, also while it has no link."""
    assert stage_of(msgspec.structs.replace(NODE, role=role), 0, uptime_s=60.0) == ("ready", None)


def test_a_healthy_start_alarms_no_person() -> None:
    """A peer that has just started has no link yet; only when that lasts it is told what may be wrong."""
    lost = msgspec.structs.replace(NODE, **LOST)
    assert stage_of(lost, 0, uptime_s=0.0) == (LifeStage.SEEKING, "connecting to the overlay")
    assert "is one of them up" in (stage_of(lost, 0, PATIENCE_S).missing or "")
    returned = msgspec.structs.replace(NODE, super_node=None, role=Role.JOINING)
    assert stage_of(returned, 0, uptime_s=0.0) == (LifeStage.SEEKING, "looking for the super-node")
