"""Cut off, or asleep, for longer than a subscriber's lease: who lives gets back what it still means, and only that."""

from __future__ import annotations

import pytest

from p2psub.model.content import Draft
from p2psub.model.effects import AdvertiseCommand, Notify, PublishCommand, SubscribeCommand, UnsubscribeCommand
from p2psub.model.ids import SubscriptionId
from p2psub.model.instants import SECOND_US
from p2psub.model.status import Role
from p2psub.node.core import NodeCore
from sims.engine.host import Host
from sims.engine.world import status_of
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Stage
from tests.unit.bench import CONFIG, on_topic

OVER_A_LEASE_US = CONFIG.cluster.subscriber_lease_ticks * CONFIG.tick_us + 30 * SECOND_US
MENDING_US = 40 * CONFIG.heartbeat_us
TOPIC = "t"


def declaring_stage(clusters: int, members: int, seed: int) -> Stage:
    """An overlay in which every peer has two subscriptions and an advertisement, all stable, and has ended a third."""
    stage = Stage(Scenario(clusters=clusters, members=members, faults=(), schedules=()), seed)
    assert stage.form()
    for host in stage.saboteur.peers():
        for number in (1, 2, 3):
            stage.world.command(host, SubscribeCommand(number, on_topic(TOPIC), window=1000))
        stage.world.command(host, AdvertiseCommand(4, on_topic(TOPIC), 100.0))
    stage.world.run_for(5 * SECOND_US)
    for host in stage.saboteur.peers():
        unsubscribe(stage, host)
    stage.world.run_for(5 * SECOND_US)
    assert astray(stage) == []
    return stage


def unsubscribe(stage: Stage, host: Host) -> None:
    """Let an application end its last subscription."""
    said = status_of(host)
    assert said is not None
    stage.world.command(host, UnsubscribeCommand(9, said.active_subscriptions[-1]))


def halves(stage: Stage) -> tuple[list[Host], list[Host]]:
    """The two halves of the first ring."""
    hosts = stage.saboteur.peers(stage.saboteur.peers()[0].cluster)
    return hosts[: len(hosts) // 2], hosts[len(hosts) // 2 :]


def cut_for_longer_than_a_lease(stage: Stage) -> None:
    """Cut one half off from everybody: both elect, and each ends what peers of the other declared."""
    one, other = halves(stage)
    rest = [host for host in stage.saboteur.peers() if host not in one]
    cut = stage.world.cut([(a, b) for a in one for b in rest])
    stage.world.run_for(OVER_A_LEASE_US)
    assert len(leading(stage, one)) == len(leading(stage, other)) == 1
    assert astray(stage), "nothing was ended"
    stage.world.heal(cut)


def leading(stage: Stage, hosts: list[Host] | None = None) -> list[NodeCore]:
    """The super-nodes among some peers, or all."""
    peers = stage.saboteur.peers() if hosts is None else hosts
    leaders = [host.core for host in peers if (said := status_of(host)) and said.role is Role.SUPER_NODE]
    return [core for core in leaders if isinstance(core, NodeCore)]


def host_of(stage: Stage, core: NodeCore) -> Host:
    """The machine that a core runs on."""
    return next(host for host in stage.saboteur.peers() if host.core is core)


def meant(stage: Stage) -> set[SubscriptionId]:
    """What running peers still mean."""
    said = stage.statuses()
    offers = {offer.id for status in said for offer in status.active_advertisements}
    return offers | {id_ for status in said for id_ in status.active_subscriptions}


def astray(stage: Stage) -> list[SubscriptionId]:
    """What is meant and does not stand with every super-node, or stands and is not meant by the running process."""
    living = {(said.id, said.incarnation) for said in stage.statuses()}
    wrong: set[SubscriptionId] = set()
    for core in leading(stage):
        standing = {record.id for record in core._cores.changes.active()}
        wrong |= {id_ for id_ in standing ^ meant(stage) if (id_.node, id_.incarnation) in living}
    return sorted(wrong)


def unheard(stage: Stage) -> list[SubscriptionId]:
    """Publish at every peer; the subscriptions that were not given every event exactly once."""
    publishers, given = stage.saboteur.peers(), dict[SubscriptionId, int]()

    def note(_: Host, item: object) -> None:
        if isinstance(item, Notify):
            given[item.subscription] = given.get(item.subscription, 0) + len(item.events)

    stage.world.on_notify.append(note)
    for host in publishers:
        stage.world.command(host, PublishCommand(10, [Draft(TOPIC)]))
    stage.world.run_for(20 * SECOND_US)
    stage.world.on_notify.remove(note)
    wanted = [id_ for said in stage.statuses() for id_ in said.active_subscriptions]
    assert wanted
    return [id_ for id_ in wanted if given.get(id_) != len(publishers)]


@pytest.mark.parametrize("loss", [0.0, 0.05], ids=["", "lossy"])
@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("clusters", [1, 2])
def test_ring_cut_for_longer_than_a_lease_has_every_declaration_again(clusters: int, seed: int, loss: float) -> None:
    """Both halves end what the other declared; after the heal it stands again, and what peers ended themselves not."""
    stage = declaring_stage(clusters, 4, seed)
    stage.world.network.weather.loss = loss
    cut_for_longer_than_a_lease(stage)
    stage.world.run_for(MENDING_US)
    assert astray(stage) == []
    assert unheard(stage) == []


@pytest.mark.parametrize("seed", [3, 4])
def test_what_is_ended_during_the_cut_stays_ended(seed: int) -> None:
    """The peer knows that it did not mean it any more, whoever else ended it."""
    stage = declaring_stage(1, 4, seed)
    stage.world.agenda.after(OVER_A_LEASE_US // 2, unsubscribe, stage, halves(stage)[0][0])
    stage.world.agenda.after(OVER_A_LEASE_US - SECOND_US, unsubscribe, stage, halves(stage)[1][0])
    cut_for_longer_than_a_lease(stage)
    stage.world.run_for(MENDING_US)
    assert len(meant(stage)) == 4 * 3 - 2
    assert astray(stage) == []


@pytest.mark.parametrize("loss", [0.0, 0.1], ids=["", "lossy"])
@pytest.mark.parametrize("seed", range(3, 9))
def test_successor_of_a_super_node_that_falls_after_the_heal_goes_on_telling(seed: int, loss: float) -> None:
    """Within the heartbeats in which the halves become one; nobody else could know what ended in the cut."""
    stage = declaring_stage(1, 6, seed)
    cut_for_longer_than_a_lease(stage)
    stage.world.network.weather.loss = loss
    while len(leaders := leading(stage)) > 1:
        stage.world.run_for(SECOND_US // 10)
    stage.world.run_for((seed - 3) * SECOND_US // 2)
    stage.world.crash(host_of(stage, leaders[0]), silent=True)
    stage.world.run_for(MENDING_US)
    assert astray(stage) == []
    assert unheard(stage) == []


@pytest.mark.parametrize("falls", ["leader", "everybody"])
def test_sleeper_has_its_declarations_again_though_whoever_ended_them_is_gone(falls: str) -> None:
    """Later terms hold the ends and not whose word they were; but they know who was away when they began."""
    stage = declaring_stage(1, 6, 3)
    sleeper = next(host for host in stage.saboteur.peers() if (s := status_of(host)) and s.role is Role.MEMBER)
    others = [host for host in stage.saboteur.peers() if host is not sleeper]
    falling = others if falls == "everybody" else [host_of(stage, leading(stage)[0])]
    stage.world.pause(sleeper, OVER_A_LEASE_US + (len(falling) + 1) * MENDING_US)
    stage.world.run_for(OVER_A_LEASE_US)
    assert {id_.node for id_ in astray(stage)} == {sleeper.id}
    for host in falling:
        stage.world.crash(host)
        stage.start(host)
        stage.world.run_for(MENDING_US)
    stage.world.run_for(2 * MENDING_US)
    assert astray(stage) == []
    assert unheard(stage) == []
