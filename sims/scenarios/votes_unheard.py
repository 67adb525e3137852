"""The schedule of refusals that nobody hears: a super-node falls with one, and its successor must ask for it anew."""

from __future__ import annotations

from random import Random

from p2psub.model.changes import ChangeNumber
from p2psub.model.ids import SubscriptionId
from p2psub.model.instants import SECOND_US
from p2psub.model.records import Kind, Record
from sims.engine.host import Host
from sims.scenarios.stage import Stage

_APART_US = 4 * SECOND_US


def super_node_with_a_refusal(stage: Stage, rng: Random) -> None:
    """Cut a super-node off from other clusters when it learns what its owners refuse, and crash it in there."""
    subscriptions: dict[ChangeNumber | None, SubscriptionId] = {}

    def numbered(_: int, record: Record) -> None:
        if record.subscribed is not None:
            subscriptions[record.number] = record.subscribed.id

    def learned(_: int, record: Record) -> None:
        host, subscription = stage.world.network.host_of(record.node), subscriptions.get(record.number)
        if host is None or host.cluster is None or subscription is None or record.number is None:
            return
        is_foreign = record.number.log.cluster != host.cluster
        if is_foreign and stage.votes.against(host.cluster, subscription) and rng.random() < 0.2:
            _fall_unheard(stage, rng, host)

    stage.world.trace.hook(Kind.NUMBER, numbered)
    stage.world.trace.hook(Kind.CHANGE, learned)


def _fall_unheard(stage: Stage, rng: Random, host: Host) -> None:
    if not stage.saboteur.may_strike([host]):
        return
    others = [peer for peer in stage.saboteur.peers() if peer.cluster != host.cluster]
    stage.saboteur.cut("super_node_with_a_refusal", [(host, other) for other in others], _APART_US)
    stage.world.agenda.after(rng.randrange(SECOND_US, 2 * SECOND_US), stage.strike, host.id, False)
