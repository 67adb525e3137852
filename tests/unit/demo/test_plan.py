"""A plan that cannot be kept is refused before anything is started."""

from __future__ import annotations

import pytest

from p2psub.demo.plan import DemoPlan
from p2psub.errors import ConfigError


def test_the_default_plan_is_sound() -> None:
    """16 peers in 4 clusters, of which one member and one super-node die."""
    assert DemoPlan().kills == 2


@pytest.mark.parametrize(
    ("field", "plan"),
    [
        ("clusters", {"clusters": 0}),
        ("publishers", {"publishers": 0}),
        ("subscribers", {"subscribers": 0}),
        ("events", {"events": 0}),
        ("member_kills", {"member_kills": -1}),
        ("super_node_kills", {"super_node_kills": -1}),
        ("kills", {"clusters": 1, "member_kills": 1, "super_node_kills": 1}),
        ("peers", {"peers": 11}),
        ("peers", {"peers": 3, "member_kills": 0, "super_node_kills": 0}),
        ("peers", {"publishers": 15}),
        ("peers", {"subscribers": 15}),
        ("subscriptions", {"subscriptions": 7}),
        ("rate_per_s", {"rate_per_s": 0.0}),
        ("patience_s", {"patience_s": -1.0}),
    ],
)
def test_an_impossible_plan_names_its_field(field: str, plan: dict[str, int]) -> None:
    """The error begins with what to change."""
    with pytest.raises(ConfigError) as caught:
        DemoPlan(**plan)
    assert caught.value.field == field


def test_nobody_needs_company_who_is_not_killed() -> None:
    """One peer per cluster will do for a run without deaths."""
    DemoPlan(peers=4, clusters=4, publishers=1, subscribers=4, member_kills=0, super_node_kills=0)
