"""The simulator's own promises, tried with a fake core."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from p2psub.model.ids import Contact
from p2psub.model.messages.liveness import Ping
from sims.engine.clockwork import Agenda
from sims.engine.host import Core, CoreFault, Host
from sims.engine.network import LinkShape
from sims.engine.placement import contact_for
from sims.engine.world import World
from tests.simulation.worlds import SECOND_US, core_of, digest_of_faulty_world, make_world, neighbours

ROOT = Path(__file__).parents[2]
EVEN = LinkShape(latency_ms=10, jitter_ms=0)


def neighbour_named(name: str) -> Contact:
    """Where a machine of that name is."""
    return contact_for(0, name)


def no_birth(
    host: Host, rng: Random, disk: Mapping[str, Mapping[tuple[object, ...], object]], contacts: tuple[Contact, ...]
) -> Core:
    """For machines that are never started."""
    raise AssertionError


def test_actions_of_one_instant_keep_their_order() -> None:
    """What was planned first for an instant is done first, and the past becomes the next instant."""
    agenda, done = Agenda(), list[str]()
    agenda.at(5_000, done.append, "a")
    agenda.at(4_001, done.append, "b")
    agenda.at(3_000, done.append, "early")
    while (actions := agenda.advance(10_000)) is not None:
        for action, arguments in actions:
            action(*arguments)
    assert done == ["early", "a", "b"]
    agenda.at(1, done.append, "past")
    assert agenda.advance(20_000) is not None
    assert agenda.now == 11_000


def test_same_seed_same_digest_in_processes_with_other_hash_seeds() -> None:
    """A trace depends on the seed alone: three processes with different PYTHONHASHSEED agree."""
    code = "from tests.simulation.worlds import digest_of_faulty_world; print(digest_of_faulty_world(3))"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "4242")
    }
    assert len(digests) == 1


def test_another_seed_gives_another_digest() -> None:
    """The digest tells runs apart."""
    assert digest_of_faulty_world(1) != digest_of_faulty_world(2)


def test_clock_offsets_do_not_change_what_happens() -> None:
    """The same seed under other clocks brings the same inputs to every node at the same true time."""
    beats = []
    for clock_seed in (1, 2):
        world, hosts = make_world(6, clock_seed=clock_seed)
        world.run_until(10 * SECOND_US)
        beats.append([(core_of(host).beat_times, core_of(host).heard) for host in hosts])
    assert beats[0] == beats[1]


def test_a_clock_that_drifts_runs_fast_or_slow_and_its_timers_with_it() -> None:
    """Between two instants it shows up to 2 % more or less; a timer is due when the clock shows its time."""
    fast, even = Host(0, neighbour_named("a"), None, no_birth), Host(1, neighbour_named("b"), None, no_birth)
    fast.drift_ppm = 20_000
    for host in (fast, even):
        host.started_us, host.steady_us = 7 * SECOND_US, 900 * SECOND_US
    assert [host.steady(17 * SECOND_US) for host in (fast, even)] == [910_200_000, 910_000_000]
    for host in (fast, even):
        for at_us in (900_000_001, 910_000_000, 912_345_678):
            due_us = host.true_time(at_us)
            assert host.steady(due_us) >= at_us > host.steady(due_us - 2)


def test_clocks_drift_only_where_that_is_asked_for() -> None:
    """Each by a rate of its own, the same for every start."""

    def rates(drift: bool) -> list[int]:
        world = World(5, drift=drift)
        return [world.add_host(neighbour_named(name), None, no_birth).drift_ppm for name in "abc"]

    assert rates(drift=False) == [0, 0, 0]
    assert rates(drift=True) == rates(drift=True)
    assert len(set(rates(drift=True))) == 3


def test_link_is_up_at_both_ends_after_a_round_trip() -> None:
    """The accepting side is linked after one latency, the dialling side after two."""
    world, hosts = make_world(2, shape=EVEN)
    world.run_until(12_000)
    assert not core_of(hosts[0]).linked
    world.run_until(25_000)
    assert list(core_of(hosts[0]).linked) == [hosts[1].id]
    assert list(core_of(hosts[1]).linked) == [hosts[0].id]


def test_every_message_arrives_once_in_fair_weather() -> None:
    """Without faults nothing is lost, repeated or left over."""
    world, _ = make_world(6)
    world.run_until(20 * SECOND_US)
    traffic = world.network.traffic
    assert traffic.sent > 400
    assert traffic.sent - traffic.received < 30, "the rest is under way"
    assert traffic.lost == traffic.duplicated == traffic.cut == traffic.stale == traffic.unlinked == 0


def test_loss_and_duplication_come_at_their_rates() -> None:
    """With 10 % of each, about that many messages vanish and repeat."""
    world, hosts = make_world(6, shape=EVEN)
    for host in hosts:
        core_of(host).per_beat = 20
    world.network.weather.loss = world.network.weather.duplicate = 0.1
    world.run_until(30 * SECOND_US)
    traffic = world.network.traffic
    assert traffic.sent > 5_000
    assert 0.08 < traffic.lost / traffic.sent < 0.12
    assert 0.08 < traffic.duplicated / traffic.sent < 0.12


def test_order_holds_within_a_session_unless_reordering_is_on() -> None:
    """Jitter alone lets no message overtake another of its session; the fault does."""
    world, _ = make_world(2, shape=LinkShape(latency_ms=10, jitter_ms=400))
    world.run_until(30 * SECOND_US)
    assert world.network.traffic.reordered == 0
    world.network.weather.reorder = 0.5
    world.run_for(10 * SECOND_US)
    assert world.network.traffic.reordered > 0


def test_cut_loses_messages_and_leaves_sessions() -> None:
    """During a cut nothing passes and no link ends; afterwards messages pass again."""
    world, hosts = make_world(2, shape=EVEN)
    world.run_until(2 * SECOND_US)
    heard = len(core_of(hosts[1]).heard)
    cut = world.cut([(hosts[0], hosts[1])])
    world.run_for(5 * SECOND_US)
    assert len(core_of(hosts[1]).heard) <= heard + 2
    assert core_of(hosts[1]).linked
    assert not core_of(hosts[1]).losses
    world.heal(cut)
    world.run_for(2 * SECOND_US)
    assert len(core_of(hosts[1]).heard) > heard + 4


def test_one_way_cut_lets_the_other_way_pass() -> None:
    """An asymmetric cut silences one direction only."""
    world, hosts = make_world(2, shape=EVEN)
    world.run_until(2 * SECOND_US)
    world.cut([(hosts[0], hosts[1])], both_ways=False)
    world.run_for(SECOND_US)
    before = len(core_of(hosts[0]).heard), len(core_of(hosts[1]).heard)
    world.run_for(5 * SECOND_US)
    assert len(core_of(hosts[1]).heard) == before[1]
    pings = [message for _, message in core_of(hosts[0]).heard[before[0] :] if isinstance(message, Ping)]
    assert len(pings) == 10


def test_overlapping_cuts_heal_one_by_one() -> None:
    """A pair that two cuts separate is together again only after both have healed."""
    world, hosts = make_world(3, shape=EVEN)
    first, second = world.cut([(hosts[0], hosts[1])]), world.cut([(hosts[0], hosts[1]), (hosts[0], hosts[2])])
    world.heal(first)
    assert (0, 1) in world.network.cuts
    world.heal(second)
    assert not world.network.cuts


def test_killed_process_is_heard_of_after_one_latency() -> None:
    """Peers of a killed process lose their link at once, and dialling it is refused after a round trip."""
    world, hosts = make_world(2, shape=EVEN)
    world.run_until(2 * SECOND_US)
    world.crash(hosts[1])
    world.run_for(11_000)
    assert [node for _, node in core_of(hosts[0]).losses] == [hosts[1].id]
    world.crash(hosts[0])
    world.start(hosts[0], neighbours(hosts, hosts[0]))
    world.run_for(22_000)
    assert [(at // 1000, node) for at, node in core_of(hosts[0]).losses] == [(20, hosts[1].id)]


def test_gone_host_is_silent_until_its_restart_bounces_old_sessions() -> None:
    """A machine that vanished ends no session; once it is back, what is sent on the old session ends it."""
    world, hosts = make_world(2, shape=EVEN)
    world.run_until(2 * SECOND_US)
    world.crash(hosts[1], silent=True)
    world.run_for(5 * SECOND_US)
    assert not core_of(hosts[0]).losses
    world.start(hosts[1])
    world.run_for(SECOND_US)
    assert [node for _, node in core_of(hosts[0]).losses] == [hosts[1].id]
    assert not core_of(hosts[1]).heard


@pytest.mark.parametrize("how", ["gone", "cut"])
def test_dialling_into_silence_fails_after_three_seconds(how: str) -> None:
    """Nobody answers from a dead machine or from behind a cut; the dial gives up after 3 s."""
    world, hosts = make_world(2, shape=EVEN)
    world.run_until(2 * SECOND_US)
    if how == "gone":
        world.crash(hosts[1], silent=True)
    else:
        world.cut([(hosts[0], hosts[1])])
    world.crash(hosts[0])
    world.start(hosts[0], neighbours(hosts, hosts[0]))
    world.run_for(4 * SECOND_US)
    assert [(at // 1000, node) for at, node in core_of(hosts[0]).losses] == [(3000, hosts[1].id)]


def test_paused_process_goes_on_late_with_everything_that_waited() -> None:
    """A frozen process steps once when it thaws, with its timer late and its messages waiting."""
    world, hosts = make_world(2, shape=EVEN)
    world.run_until(2 * SECOND_US)
    heard = len(core_of(hosts[1]).heard)
    beats = len(core_of(hosts[1]).beat_times)
    world.pause(hosts[1], 3 * SECOND_US)
    world.run_for(2_990_000)
    assert len(core_of(hosts[1]).heard) == heard
    world.run_for(20_000)
    assert len(core_of(hosts[1]).heard) >= heard + 6
    assert len(core_of(hosts[1]).beat_times) == beats + 1


def test_limited_link_drains_at_its_bandwidth() -> None:
    """A slow link delivers no more than that, and says when it is empty, and how long it was not."""
    world, hosts = make_world(2, shape=LinkShape(latency_ms=10, jitter_ms=0, bandwidth=1000))
    for host in hosts:
        core_of(host).per_beat = 400
    world.run_until(10 * SECOND_US)
    assert core_of(hosts[0]).linked[hosts[1].id] < 1 << 20
    # A ping is six bytes or so: 1,000 bytes a second are fewer than 200 messages.
    assert 800 < len(core_of(hosts[0]).heard) < 2_000
    world, hosts = make_world(2, shape=LinkShape(latency_ms=10, jitter_ms=0, bandwidth=100_000))
    for host in hosts:
        core_of(host).per_beat = 400
    world.run_until(5 * SECOND_US)
    drained = core_of(hosts[0]).drained
    assert len(drained) > 5
    arrived = [news.arrived for news in drained]
    assert arrived == sorted(set(arrived))
    busy_s = sum(news.busy_us for news in drained) / SECOND_US
    assert sum(news.busy_bytes for news in drained) == pytest.approx(100_000 * busy_s, rel=0.05)


def test_what_a_core_raises_names_the_node_and_the_time() -> None:
    """A core's failure is a finding with its place, not a broken simulator."""
    world, hosts = make_world(2)
    world.run_until(SECOND_US)
    hosts[0].core.step = None  # type: ignore[method-assign,union-attr]
    with pytest.raises(CoreFault, match="n0 at 1"):
        world.run_for(SECOND_US)
