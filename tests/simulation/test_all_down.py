"""An overlay whose peers were all down comes back from their disks, without its bootstrap, and as one overlay."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from random import Random

import pytest

from bootstrap.registry import RegistryCore
from p2psub.api.join_stages import stage_of
from p2psub.model.content import Draft
from p2psub.model.effects import LeaveCommand, Notify, PublishCommand, SubscribeCommand
from p2psub.model.graycode import overlaps
from p2psub.model.ids import ClusterId, Contact
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.status import Role
from p2psub.overlay.hypercube import DIRECTORY_NAMESPACE
from sims.engine.host import Host
from sims.engine.placement import cluster_named
from sims.engine.world import status_of
from sims.scenarios.run import run
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Disk, Stage
from sims.workloads.load import Load
from tests.simulation.seeds import seeds
from tests.unit.bench import on_topic

LOAD = Load(subscriptions=16, events_per_second=10.0, churn_per_second=1.0)


def formed(clusters: int, members: int, seed: int = 1) -> Stage:
    """An overlay that stands for a while, with its bootstrap."""
    stage = Stage(Scenario(clusters=clusters, members=members, faults=(), schedules=(), bootstrap=True), seed)
    assert stage.form()
    stage.world.run_for(15 * SECOND_US)
    return stage


def bootstrap_of(stage: Stage) -> Host:
    """Its machine."""
    assert stage.bootstrap is not None
    return stage.bootstrap


def stop_all(stage: Stage) -> list[Host]:
    """End every process, the bootstrap's too; the peers that ran."""
    peers = stage.saboteur.peers()
    for host in [*peers, bootstrap_of(stage)]:
        stage.world.crash(host)
    return peers


def start(stage: Stage, hosts: Iterable[Host]) -> None:
    """Start peers with what a real one is given: the bootstrap, whether it runs or not."""
    for host in hosts:
        stage.world.start(host, (bootstrap_of(stage).contact,))


def start_forgetful_bootstrap(stage: Stage) -> None:
    """One that knows of no cluster, and lets whoever asks first found the overlay, as a real one does."""

    def birth(host: Host, rng: Random, disk: Disk, contacts: tuple[Contact, ...]) -> RegistryCore:
        return RegistryCore(host.contact, host.incarnation, stage.config, rng, founding_from_us=Micros(0))

    bootstrap_of(stage).birth = birth
    stage.world.start(bootstrap_of(stage))


def unready(stage: Stage) -> list[str]:
    """What the running peers wait for."""
    stages = [stage_of(said, links=1, uptime_s=60.0) for said in stage.statuses()]
    return [f"{name}: {missing}" for name, missing in stages if missing is not None]


def wait_ready(stage: Stage, seconds_max: float) -> float:
    """Seconds until everybody who runs is ready."""
    began = stage.world.now
    while unready(stage):
        assert stage.world.now - began < seconds_max * SECOND_US, unready(stage)
        stage.world.run_for(SECOND_US // 4)
    return (stage.world.now - began) / SECOND_US


def check_one_overlay(stage: Stage, clusters: int) -> None:
    """One super-node per cluster; everybody knows the same prefixes, and they part the labels among them."""
    statuses = stage.statuses()
    views = {said.clusters for said in statuses}
    assert len(views) == 1, views
    prefixes = [prefix for _, prefix in views.pop()]
    assert len(prefixes) == clusters
    assert not [pair for pair in combinations(prefixes, 2) if overlaps(*pair)]
    assert sum(Fraction(1, 2 ** len(prefix)) for prefix in prefixes) == 1
    acting = [said.cluster for said in statuses if said.role is Role.SUPER_NODE]
    assert len(acting) == len(set(acting)) == clusters


def delivers(stage: Stage, publisher: Host, subscriber: Host) -> bool:
    """Whether an event gets from one to the other, by a subscription that is made now."""
    heard: list[Notify] = []
    stage.world.on_notify.append(lambda _, effect: heard.append(effect) if isinstance(effect, Notify) else None)
    stage.world.command(subscriber, SubscribeCommand(900, on_topic("after"), window=8))
    stage.world.run_for(25 * SECOND_US)
    stage.world.command(publisher, PublishCommand(901, [Draft("after")]))
    stage.world.run_for(5 * SECOND_US)
    return len(heard) == 1


# Nobody but the disks


@pytest.mark.parametrize(("clusters", "members"), [(1, 1), (1, 3), (2, 4), (5, 1), (5, 4)])
def test_everybody_is_ready_soon_after_the_last_one_is_back(clusters: int, members: int) -> None:
    """Nobody waits out a patience where everybody is back; and every cluster stands where it stood."""
    stage = formed(clusters, members)
    before = stage.statuses()[0].clusters
    start(stage, stop_all(stage))
    assert wait_ready(stage, 60) < 15
    check_one_overlay(stage, clusters)
    assert stage.statuses()[0].clusters == before
    peers = stage.saboteur.peers()
    assert delivers(stage, peers[0], peers[-1])


@pytest.mark.parametrize("seed", seeds(0, 1, more=(2, 3)))
def test_nothing_that_was_acknowledged_is_lost_when_all_are_down(seed: int) -> None:
    """Under load, judged by every checker: what was owed has an outcome, what is subscribed anew gets everything."""
    scenario = Scenario(clusters=4, members=5, seconds=150.0, faults=(), schedules=("all_down",), load=LOAD)
    report = run(scenario, seed)
    assert report.findings == []
    assert report.crashes == 20


@pytest.mark.parametrize("seed", seeds(0, more=(1,)))
def test_nothing_is_lost_when_all_are_down_and_the_network_is_bad(seed: int) -> None:
    """While they gather, a tenth of what they say is lost, repeated or overtaken."""
    faults = ("loss", "duplicate", "reorder")
    scenario = Scenario(clusters=4, members=5, seconds=170.0, faults=faults, schedules=("all_down",), load=LOAD)
    assert run(scenario, seed).findings == []


@pytest.mark.parametrize("seed", seeds(2, more=(0, 1)))
def test_those_who_come_back_go_on_without_those_who_do_not(seed: int) -> None:
    """No super-node comes back; clusters find each other by the spares that their entries name."""
    schedules = ("all_down_some_for_good",)
    scenario = Scenario(
        clusters=3, members=6, seconds=320.0, quiet_seconds=180.0, faults=(), schedules=schedules, load=LOAD
    )
    assert run(scenario, seed).findings == []


def test_clusters_find_each_other_when_no_super_node_comes_back() -> None:
    """Each other member was told of two spares of every cluster."""
    stage = formed(3, 5)
    leaders = [said.id for said in stage.statuses() if said.role is Role.SUPER_NODE]
    start(stage, [host for host in stop_all(stage) if host.id not in leaders])
    wait_ready(stage, 80)
    check_one_overlay(stage, 3)


def test_event_owed_to_a_subscriber_that_lived_on_reaches_it() -> None:
    """Its cluster and the publisher's were down; who holds the event finds the subscriber's new super-node and pays."""
    stage = formed(2, 4)
    subscriber = next(host for host in stage.saboteur.peers(cluster_named(1)) if not stage.saboteur.acts(host))
    publisher = stage.saboteur.peers(cluster_named(0))[-1]
    heard: list[Notify] = []
    stage.world.on_notify.append(lambda _, effect: heard.append(effect) if isinstance(effect, Notify) else None)
    stage.world.command(subscriber, SubscribeCommand(1, on_topic("t"), window=8))
    stage.world.run_for(20 * SECOND_US)
    cut = stage.world.cut([(subscriber, host) for host in stage.world.hosts if host is not subscriber])
    stage.world.command(publisher, PublishCommand(2, [Draft("t")]))
    stage.world.run_for(SECOND_US)
    assert not [said for said in stage.statuses() if said.outbox], "it is acknowledged"
    others = [host for host in stage.saboteur.peers() if host is not subscriber]
    for host in [*others, bootstrap_of(stage)]:
        stage.world.crash(host)
    stage.world.heal(cut)
    stage.world.run_for(2 * SECOND_US)
    start(stage, others)
    wait_ready(stage, 90)
    stage.world.run_for(30 * SECOND_US)
    assert len(heard) == 1
    assert not [said for said in stage.statuses() if said.undischarged]


# One overlay, never two


def test_cluster_that_comes_back_alone_is_given_nothing_it_must_not_have() -> None:
    """It gives up whom it misses for a minute, and makes room again when they come."""
    stage = formed(2, 3)
    peers = stop_all(stage)
    start(stage, [host for host in peers if host.cluster == cluster_named(0)])
    stage.world.run_for(150 * SECOND_US)
    assert {said.clusters for said in stage.statuses()} == {((cluster_named(0), ""),)}
    start(stage, [host for host in peers if host.cluster == cluster_named(1)])
    wait_ready(stage, 90)
    stage.world.run_for(10 * SECOND_US)
    check_one_overlay(stage, 2)


def test_two_clusters_that_believed_to_be_alone_become_one_overlay() -> None:
    """Each came back while it could not reach the other, gave it up and took the whole cube."""
    stage = formed(2, 3)
    peers = stop_all(stage)
    zero, one = cluster_named(0), cluster_named(1)
    cut = stage.world.cut([(a, b) for a in peers for b in peers if (a.cluster, b.cluster) == (zero, one)])
    start(stage, peers)
    stage.world.run_for(150 * SECOND_US)
    assert {said.clusters for said in stage.statuses()} == {((zero, ""),), ((one, ""),)}
    stage.world.heal(cut)
    stage.world.run_for(20 * SECOND_US)
    wait_ready(stage, 60)
    stage.world.run_for(5 * SECOND_US)
    check_one_overlay(stage, 2)
    assert delivers(stage, peers[0], peers[-1])


def test_forgetful_bootstrap_lets_nobody_found_a_second_overlay() -> None:
    """A newcomer asks it before anybody rules; but who is back has told it that there is an overlay."""
    stage = formed(2, 3)
    peers = stop_all(stage)
    newcomer = stage.add_peer(ClusterId("new"), "newcomer")
    start_forgetful_bootstrap(stage)
    start(stage, peers[:1])
    stage.world.run_for(2 * SECOND_US)
    start(stage, [newcomer])
    stage.world.run_for(10 * SECOND_US)
    said = status_of(newcomer)
    assert said is not None
    assert said.prefix is None
    start(stage, peers[1:])
    wait_ready(stage, 120)
    stage.world.run_for(5 * SECOND_US)
    check_one_overlay(stage, 3)


def test_second_overlay_that_was_founded_all_the_same_is_united_by_the_bootstrap() -> None:
    """A newcomer founded one while everybody was down; its members and theirs become one overlay."""
    stage = formed(2, 3)
    peers = stop_all(stage)
    newcomer = stage.add_peer(ClusterId("new"), "newcomer")
    start_forgetful_bootstrap(stage)
    start(stage, [newcomer])
    stage.world.run_for(5 * SECOND_US)
    said = status_of(newcomer)
    assert said is not None
    assert said.prefix == ""
    start(stage, peers)
    stage.world.run_for(20 * SECOND_US)
    wait_ready(stage, 60)
    stage.world.run_for(5 * SECOND_US)
    check_one_overlay(stage, 3)


# Disks that do not know


def test_peers_without_a_directory_on_disk_found_the_overlay_by_the_word_of_the_bootstrap() -> None:
    """As a version before this one left them: they rule their clusters, and wait for the bootstrap to come back."""
    stage = formed(2, 3)
    peers = stop_all(stage)
    for host in peers:
        host.disk._namespaces.pop(DIRECTORY_NAMESPACE)
    start(stage, peers)
    stage.world.run_for(60 * SECOND_US)
    assert {said.clusters for said in stage.statuses()} == {()}
    start_forgetful_bootstrap(stage)
    wait_ready(stage, 60)
    stage.world.run_for(5 * SECOND_US)
    check_one_overlay(stage, 2)


def test_peer_that_still_knows_the_directory_tells_its_cluster() -> None:
    """One of six kept it; the others ask around."""
    stage = formed(2, 3)
    peers = stop_all(stage)
    for host in peers[1:]:
        host.disk._namespaces.pop(DIRECTORY_NAMESPACE)
    start(stage, peers)
    wait_ready(stage, 90)
    stage.world.run_for(5 * SECOND_US)
    check_one_overlay(stage, 2)


@pytest.mark.parametrize("seed", range(3))
def test_overlay_that_was_stopped_in_good_order_comes_back_too(seed: int) -> None:
    """All leave at once, so their last tables differ; the newest says who must be there."""
    stage = formed(2, 4, seed)
    for host in stage.saboteur.peers():
        stage.world.command(host, LeaveCommand())
    stage.world.run_for(10 * SECOND_US)
    start(stage, stop_all(stage))
    wait_ready(stage, 80)
    stage.world.run_for(5 * SECOND_US)
    check_one_overlay(stage, 2)
    peers = stage.saboteur.peers()
    assert delivers(stage, peers[0], peers[-1])
