"""The figures of links count what they say: bodies, each once for a link and a need, and silence between heartbeats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from p2psub.errors import ConfigError
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId
from p2psub.model.instants import Micros
from p2psub.model.messages.casts import EventCast, EventPayload
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.model.messages.pubsub import Deliver, Publish
from sims.engine.carried import Carriage, Carried
from sims.scenarios.scenario import Scenario, read_scenario, with_cube_links
from tests.unit.bench import at, event_of, parcel_of, report_of

SLOW_CUBE = Path(__file__).parents[2] / "sims/scenarios/files/slow_cube.toml"
NEWS = Publish(parcel_of(event_of("x", 1), event_of("x", 2)), Micros(0))
BEAT = report_of(1)[1]


def test_a_body_counts_once_for_a_link_and_a_need() -> None:
    """Two events to one owner, one of them twice; and the same over another link, and for another reason."""
    carriage = Carriage()
    carriage.sent(0, 1, [NEWS])
    assert carriage.carried == Carried(), "formation does not count"
    carriage.begin(1_000)
    carriage.sent(0, 1, [Ping(), NEWS])
    assert (carriage.carried.needed, carriage.carried.transmitted) == (2, 2)
    carriage.sent(0, 1, [Publish(parcel_of(event_of("x", 2), number=9), Micros(5))])
    assert (carriage.carried.needed, carriage.carried.transmitted) == (2, 3)
    carriage.sent(1, 0, [NEWS])
    carriage.sent(0, 1, [Deliver(NEWS.parcel, Micros(0), ())])
    cast = CastId(at(1).id, 1, 1)
    carriage.sent(0, 1, [EventCast(cast, Prefix(""), EventPayload(NEWS.parcel, Micros(0), ()), 1)])
    assert (carriage.carried.needed, carriage.carried.transmitted) == (8, 9)


def test_silence_is_between_heartbeats_of_one_session() -> None:
    """Other messages do not break it, and what came before the load does not count."""
    carriage = Carriage()
    assert carriage.arrived(-1, 500, [BEAT]) == -1
    carriage.begin(1_000)
    first = carriage.arrived(-1, 2_000, [Pong(), BEAT])
    assert (first, carriage.carried.beat_gap_us_max) == (2_000, 0)
    assert carriage.arrived(first, 2_500, [Pong()]) == first
    assert carriage.arrived(first, 3_700, [BEAT]) == 3_700
    assert carriage.carried.beat_gap_us_max == 1_700


def test_seeds_take_bandwidths_and_loads_in_turn() -> None:
    """Four seeds see every bandwidth under every load, and the rate follows from both."""
    plan = read_scenario(SLOW_CUBE)
    drawn = [with_cube_links(plan, seed) for seed in range(5)]
    assert [one.cube_bandwidths for one in drawn] == [(16_000,), (100_000,), (16_000,), (100_000,), (16_000,)]
    assert [round(one.load.events_per_second, 3) for one in drawn] == [0.96, 6.0, 1.92, 12.0, 0.96]
    assert with_cube_links(drawn[1], 7) == drawn[1]
    assert with_cube_links(Scenario(), 3) == Scenario()


def test_a_load_without_links_or_bodies_is_refused() -> None:
    """It would be a share of nothing."""
    plan = read_scenario(SLOW_CUBE)
    with pytest.raises(ConfigError, match="cube_loads"):
        replace(plan, cube_bandwidths=())
    with pytest.raises(ConfigError, match="cube_loads"):
        replace(plan, load=replace(plan.load, body_bytes=None))
    with pytest.raises(ConfigError, match="cube_bandwidths"):
        replace(plan, cube_bandwidths=(0,))
    with pytest.raises(ConfigError, match="cube_slow_share"):
        replace(plan, cube_slow_share=1.5)
    with pytest.raises(ConfigError, match="cube_slow_share"):
        Scenario(cube_slow_share=0.25)
