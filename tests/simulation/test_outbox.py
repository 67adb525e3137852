"""A publisher that goes on while the owner of its topic is lost: its outbox catches up, and stays short."""

from __future__ import annotations

import pytest

from p2psub.model.content import Draft
from p2psub.model.effects import PublishCommand, PublishReply, Reply, SubscribeCommand
from p2psub.model.ids import key_of_topic
from p2psub.model.instants import SECOND_US
from sims.engine.host import Host
from sims.engine.world import status_of
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Stage
from tests.unit.bench import on_topic

EVERY_US = SECOND_US // 10
TOPIC = "t"


def owner_of_topic(stage: Stage) -> Host:
    """By a table that all follow."""
    hosts = {host.contact.id: host for host in stage.saboteur.peers()}
    ids = sorted(hosts)
    return hosts[next((id_ for id_ in ids if id_ >= key_of_topic(TOPIC)), ids[0])]


def publish_for(stage: Stage, publisher: Host, seconds: int, first: int) -> list[float]:
    """Publish an event every tenth of a second; how long each of those waited that were acknowledged meanwhile."""
    began: dict[int, int] = {}
    waited: list[float] = []

    def note(_: Host, reply: Reply | PublishReply) -> None:
        for number, outcome in reply.outcomes if isinstance(reply, PublishReply) else ():
            assert outcome.refused is None, outcome
            if number in began:
                waited.append((stage.world.now - began[number]) / SECOND_US)

    stage.world.on_reply.append(note)
    for number in range(first, first + seconds * SECOND_US // EVERY_US):
        began[number] = stage.world.now
        stage.world.command(publisher, PublishCommand(number, [Draft(TOPIC)]))
        stage.world.run_for(EVERY_US)
    return waited


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_outbox_catches_up_while_more_is_published(seed: int) -> None:
    """An event whose predecessor was lost came too early, was repeated on its own, and the next came too early."""
    stage = Stage(Scenario(clusters=1, members=6, faults=(), schedules=()), seed)
    assert stage.form()
    owner = owner_of_topic(stage)
    publisher, subscriber, *_ = [host for host in stage.saboteur.peers() if host is not owner]
    stage.world.command(subscriber, SubscribeCommand(1, on_topic(TOPIC), window=1000))
    stage.world.run_for(5 * SECOND_US)
    assert max(publish_for(stage, publisher, 2, first=10)) < 0.5
    stage.world.crash(owner, silent=True)
    assert max(publish_for(stage, publisher, 15, first=1000)) > 1.0, "no event met the lost owner"
    assert max(publish_for(stage, publisher, 5, first=2000)) < 0.5
    said = status_of(publisher)
    assert said is not None
    assert said.outbox <= 5
