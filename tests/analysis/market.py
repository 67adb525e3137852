"""A market whose every figure is known: eight events, two subscribers, an owner and its successor."""

from __future__ import annotations

from typing import NamedTuple

from p2psub.model.content import Guarantee
from p2psub.model.ids import EventId, SubscriptionId
from p2psub.model.records import Kind
from tests.analysis.planted_trace import PlantedTrace, Process


class _Stall(NamedTuple):
    alice: Process
    owner: Process
    successor: Process
    bob: Process
    carol: Process
    to_bob: SubscriptionId
    to_carol: SubscriptionId

    def promised(self, at_ms: float, owed: int) -> EventId:
        """An event that is acknowledged 4 ms after it was published."""
        event = self.alice.publish(at_ms=at_ms)
        self.owner.match(event, owed, at_ms=at_ms + 1)
        self.owner.store(event, owed=owed, at_ms=at_ms + 2)
        self.alice.acknowledge(event, count=owed, at_ms=at_ms + 4)
        return event


def market(*, cut: str | None = None, lost_in: str | None = None) -> PlantedTrace:
    """Eight events whose ends are known. `cut` is a peer that is not closed, `lost_in` one with a gap in its trace."""
    trace = PlantedTrace()
    peers = {name: trace.process(name, at_ms=0) for name in ("alice", "owner", "successor", "bob", "carol")}
    alice, owner, successor, bob, carol = peers.values()
    stall = _Stall(alice, owner, successor, bob, carol, bob.subscribe(at_ms=1), carol.subscribe(at_ms=2))
    bob.verdict(stall.to_bob, "accepted", unreached=1, at_ms=3)
    bob.verdict(stall.to_bob, at_ms=4)
    carol.verdict(stall.to_carol, at_ms=12)
    _plant_promised(stall)
    _plant_unusual(stall)
    _plant_uncounted(stall)
    if lost_in is not None:
        peers[lost_in].lose(2)
        peers[lost_in].drop("trace_overflow", count=2, at_ms=5_900)
    for name, peer in peers.items():
        if name != cut:
            peer.close(at_ms=6_000)
    return trace


def _plant_promised(stall: _Stall) -> None:
    _, owner, successor, bob, carol, to_bob, to_carol = stall
    whole = stall.promised(100, 2)
    bob.deliver(whole, to_bob, at_ms=110)
    carol.deliver(whole, to_carol, at_ms=130)
    owner.outcome(whole, to_bob, at_ms=112)
    owner.outcome(whole, to_carol, at_ms=132)
    owner.discharge(whole, count=2, at_ms=133)
    # Handed over twice to one, never to the other: the second hand-over must not hide the loss.
    lost = stall.promised(200, 2)
    bob.deliver(lost, to_bob, at_ms=240)
    bob.deliver(lost, to_bob, at_ms=241)
    owner.discharge(lost, count=2, at_ms=250)
    # Ended for one of them, and two owners say so.
    ended = stall.promised(300, 2)
    bob.deliver(ended, to_bob, at_ms=380)
    owner.outcome(ended, to_carol, "deferred", at_ms=301)
    owner.outcome(ended, to_carol, "unsubscribed", at_ms=381)
    successor.outcome(ended, to_carol, "unsubscribed", at_ms=382)
    owner.discharge(ended, count=2, at_ms=390)
    # Nobody has let it go.
    stall.promised(400, 1)


def _plant_unusual(stall: _Stall) -> None:
    alice, owner, successor, bob, carol, to_bob, to_carol = stall
    unpromised = alice.publish(at_ms=500)
    owner.match(unpromised, 1, at_ms=501)
    bob.deliver(unpromised, to_bob, at_ms=520)
    straight = alice.publish(guarantee=Guarantee.AT_MOST_ONCE, at_ms=600)
    owner.match(straight, 2, at_ms=601)
    carol.deliver(straight, to_carol, at_ms=603)
    # Two owners matched it, and the acknowledgement is the second one's.
    twice = alice.publish(at_ms=700)
    owner.store(twice, owed=1, at_ms=702)
    successor.store(twice, owed=2, at_ms=704)
    alice.acknowledge(twice, count=2, at_ms=706)
    bob.deliver(twice, to_bob, at_ms=710)
    carol.deliver(twice, to_carol, at_ms=710)
    successor.discharge(twice, count=2, at_ms=720)
    late = stall.promised(800, 1)
    owner.discharge(late, at_ms=810)
    bob.deliver(late, to_bob, at_ms=5_800)


def _plant_uncounted(stall: _Stall) -> None:
    alice, owner, _, bob, carol, to_bob, _ = stall
    alice.untraced(Kind.PUBLISH, 63, at_ms=5_801)
    carol.untraced(Kind.DELIVER, 40, at_ms=5_802)
    first = EventId(alice.node, alice.incarnation, 1)
    owner.duplicate("publish_repeated", event=first, peer=alice.node, at_ms=5_803)
    bob.duplicate("delivered_before", event=first, subscription=to_bob, peer=owner.node, at_ms=5_804)
    bob.duplicate("parcel_repeated", count=3, peer=owner.node, at_ms=5_805)
