"""A benchmark that cannot be run is refused before anything is started."""

from __future__ import annotations

from typing import Any

import pytest

from p2psub.bench.plan import EarningPlan, FilteredPlan, LinkPlan, PromisedPlan, StorePlan
from p2psub.errors import ConfigError


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("events", {"events": 0}),
        ("rounds", {"rounds": 0}),
        ("at_once", {"at_once": 0}),
        ("patience_s", {"patience_s": 0.0}),
        ("silence_s", {"silence_s": -1.0}),
        ("body", {"body_bytes": -1}),
        ("seconds", {"seconds": 0.001}),
        ("bare_times", {"bare_times": 0}),
        ("effectively_once_events", {"effectively_once_events": 0}),
    ],
)
def test_an_impossible_plan_names_its_field(field: str, options: dict[str, Any]) -> None:
    """The error begins with what to change."""
    with pytest.raises(ConfigError) as caught:
        LinkPlan(**options)
    assert caught.value.field == field


@pytest.mark.parametrize("subscribers", [0, 51])
def test_subscribers_are_few_enough_for_different_prices(subscribers: int) -> None:
    """And there is at least one."""
    with pytest.raises(ConfigError, match="subscribers"):
        FilteredPlan(subscribers=subscribers)


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("seconds", {"duration_s": 0.0}),
        ("seconds", {"duration_s": float("inf")}),
        ("rate", {"rate_per_s": -1.0}),
        ("wildcards", {"wildcards": -1}),
        ("publishers", {"publishers": 0}),
        ("publishers", {"publishers": 5}),
        ("topics", {"topics": 0}),
        ("topics", {"topics": 1, "publishers": 2}),
        ("at_once", {"at_once": 0}),
    ],
)
def test_promises_need_topics_and_publishers_in_the_ring(field: str, options: dict[str, Any]) -> None:
    """The error begins with the option to change."""
    with pytest.raises(ConfigError) as caught:
        PromisedPlan(**options)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("link_bytes_per_s", {"link_bytes_per_s": 0.0}),
        ("load", {"load": -1.0}),
        ("seconds", {"duration_s": float("inf")}),
        ("clusters", {"clusters": 2}),
        ("subscriptions", {"subscriptions": 0}),
        ("body_bytes", {"body_bytes": 0}),
    ],
)
def test_policies_are_compared_on_lines_that_are_offered_something(field: str, options: dict[str, Any]) -> None:
    """The error begins with the option to change."""
    with pytest.raises(ConfigError) as caught:
        EarningPlan(**options)
    assert caught.value.field == field


def test_a_load_is_counted_with_what_events_take_beside_their_bodies() -> None:
    """Twice a line of 46,000 bytes a second, in events of 2,300."""
    assert EarningPlan(link_bytes_per_s=46_000.0, load=2.0, body_bytes=1_500).rate_per_s == 80.0


@pytest.mark.parametrize(("publishers", "calls"), [(1, 4), (2, 2), (3, 1), (4, 1)])
def test_publishers_share_the_calls_under_way(publishers: int, calls: int) -> None:
    """With more of them the ring is not asked for more at a time."""
    assert PromisedPlan(publishers=publishers).calls == calls


def test_a_short_run_warms_up_shortly() -> None:
    """A long one not for ever."""
    assert (PromisedPlan(duration_s=1.0).warm_up_s, PromisedPlan(duration_s=60.0).warm_up_s) == (0.25, 3.0)


def test_latency_is_measured_at_the_rate_of_the_plan() -> None:
    """200 events per second, for as long as asked."""
    assert LinkPlan(seconds=1.5).timed_events == 300


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("events", {"events": 0}),
        ("rounds", {"rounds": 0}),
        ("at_once", {"at_once": 0}),
        ("open_events", {"open_events": 0}),
        ("body", {"body_bytes": -1}),
        ("publishers", {"publishers": ()}),
        ("publishers", {"publishers": (1, 0)}),
        ("pack", {"events_per_pack": 0}),
        ("pack", {"events_per_pack": 257}),
    ],
)
def test_an_impossible_plan_for_a_store_names_its_field(field: str, options: dict[str, Any]) -> None:
    """Packs hold what one signature covers, and there is something to measure."""
    with pytest.raises(ConfigError) as caught:
        StorePlan(**options)
    assert caught.value.field == field
