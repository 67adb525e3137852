"""A person is told how far the peer has come and what it waits for; it is ready only when it waits for nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from p2psub.api.join_stages import stage_of
from p2psub.model.status import Role
from tests.unit.runtime.control.fakes import NODE

LOST = {"cluster": None, "super_node": None, "role": Role.JOINING, "table": None, "serves": False, "prefix": None}


@pytest.mark.parametrize(
    ("changes", "links", "name", "missing"),
    [
        (LOST, 0, "seeking", "is the bootstrap, or any known peer, up"),
        (LOST, 1, "choosing", "looking for a cluster"),
        ({"super_node": None, "role": Role.JOINING}, 3, "seeking", "the cluster blue has no super-node"),
        ({"role": Role.JOINING, "table": None}, 3, "joining", "ring of cluster blue"),
        ({"role": Role.SUPER_NODE, "prefix": None}, 3, "founding", "its place in the cube"),
        ({"role": Role.SUPER_NODE, "filling": True}, 3, "founding", "its place in the cube"),
        ({"role": Role.SUPER_NODE, "hears_nobody": True}, 3, "cut off", "nobody else of cluster blue is heard"),
        ({"table": None, "serves": False}, 3, "indexing", "grant a table"),
        ({"serves": False}, 3, "waiting", "lease has run out"),
    ],
)
def test_a_stage_says_what_is_missing(changes: dict[str, Any], links: int, name: str, missing: str) -> None:
    """In words that name what a person can look at."""
    stage = stage_of(msgspec.structs.replace(NODE, **changes), links)
    assert stage.name == name
    assert missing in (stage.missing or "")


@pytest.mark.parametrize("role", [Role.MEMBER, Role.CANDIDATE, Role.SUPER_NODE])
def test_whoever_serves_in_a_ring_is_ready(role: Role) -> None:
    """In whatever role, also if for the moment nobody is linked with it."""
    assert stage_of(msgspec.structs.replace(NODE, role=role), 0) == ("ready", None)
