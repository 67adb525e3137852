"""Admission: one owner that refuses is enough; the subscriber is told, and the subscription ends everywhere."""

from __future__ import annotations

from functools import partial

from p2psub.admission.policy import AdmitAll
from p2psub.model.content import DeclarationState, Draft, Subscription
from p2psub.model.effects import PublishCommand, SubscribeCommand
from p2psub.model.ids import NodeId
from p2psub.model.instants import SECOND_US
from p2psub.model.messages.cluster import StoreChange
from p2psub.model.records import Kind, Record
from p2psub.node.core import NodeCore
from p2psub.node.cores import Cores
from sims.engine.host import Host
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Stage
from tests.unit.bench import at, event_of, matched_by, on_topic, sent_of, subscription_of, topic_in
from tests.unit.leaders import Leader

FORBIDDEN, WELCOME = "forbidden", "welcome"


class Refuse:
    """Refuses one topic; counts what it was asked."""

    may_refuse = True

    def __init__(self) -> None:
        self.asked: list[Subscription] = []

    def grants(self, subscription: Subscription) -> bool:
        self.asked.append(subscription)
        return subscription.filter != on_topic(FORBIDDEN)


def test_everybody_is_welcome_until_capacity_is_counted() -> None:
    """The default policy."""
    assert AdmitAll().grants(subscription_of(on_topic(FORBIDDEN)))


def test_refused_vote_numbers_an_end_at_once() -> None:
    """The end is a change of its own, stored by the same owner: nobody goes on matching it."""
    leader, topic = Leader(32, 64), topic_in(32, 64)
    record = subscription_of(on_topic(topic), subscriber=64)
    leader.subscribe(64, record)
    ((owner, store),) = sent_of(leader.step, StoreChange)
    assert owner == at(64)
    leader.settle()
    for place in (32, 64):
        leader.hold_changes(place)
    leader.store_change(64, store, granted=False)
    ((_, end),) = sent_of(leader.step, StoreChange)
    ended = end.change.record
    assert (ended.id, ended.version, ended.state) == (record.id, 2, DeclarationState.ENDED)
    assert list(leader.cores.changes.active()) == []


class Grant(Refuse):
    """Votes for everything, where others may refuse."""

    def grants(self, subscription: Subscription) -> bool:
        return True


class Overlay:
    """Two clusters; the policy of every node of the second refuses a topic."""

    def __init__(self) -> None:
        scenario = Scenario(clusters=2, members=3, faults=(), schedules=(), bootstrap=False)
        self.policy = Refuse()
        self.stage = Stage(scenario, seed=5, node=self.birth)
        assert self.stage.form()
        self.run(12)

    def birth(self, *args: object, **named: object) -> NodeCore:
        """A node; its cluster is the seventh argument."""
        policy = self.policy if args[6] == "c001" else Grant()
        return partial(NodeCore, policy=policy)(*args, **named)  # type: ignore[arg-type]

    def run(self, seconds: int) -> None:
        self.stage.world.run_for(seconds * SECOND_US)

    def records(self, kind: Kind) -> list[Record]:
        return [record for _, record in self.stage.world.trace.happenings(kind)]

    def matching(self, topic: str) -> list[NodeId]:
        """Everybody whose index has an active subscription to the topic."""
        event = event_of(topic)
        return [host.id for host in self.stage.saboteur.peers() if matched_by(cores_of(host), event)]


def cores_of(host: Host) -> Cores:
    """The running node's cores."""
    assert isinstance(host.core, NodeCore)
    return host.core._cores


def test_one_refusing_cluster_refuses_for_the_overlay() -> None:
    """The subscriber, in the other cluster, hears `refused`; nobody holds the subscription; no event is delivered."""
    overlay = Overlay()
    first, other = overlay.stage.saboteur.peers()[1:3]
    for number, topic in enumerate((FORBIDDEN, WELCOME), start=1):
        overlay.stage.world.command(first, SubscribeCommand(number, on_topic(topic)))
    overlay.run(8)
    verdicts = {(r.subscription, r.status, r.state) for r in overlay.records(Kind.VERDICT)}
    forbidden, welcome = (record.subscription for record in overlay.records(Kind.SUBSCRIBE))
    assert verdicts == {(forbidden, "refused", "active"), (welcome, "stable", "active")}
    assert overlay.matching(FORBIDDEN) == []
    assert len(overlay.matching(WELCOME)) == 2
    for number, topic in enumerate((FORBIDDEN, WELCOME), start=3):
        overlay.stage.world.command(other, PublishCommand(number, [Draft(topic)]))
    overlay.run(4)
    assert [record.subscription for record in overlay.records(Kind.DELIVER)] == [welcome]
    assert FORBIDDEN in [asked.filter.conjunctions[0][0].constant for asked in overlay.policy.asked]
