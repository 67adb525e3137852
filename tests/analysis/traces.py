"""Planted traces that several tests look at."""

from __future__ import annotations

from p2psub.model.ids import Epoch
from tests.analysis.planted_trace import PlantedTrace


def market(*, is_cut: bool = True) -> PlantedTrace:
    """Two clusters, a cast between them, and six events for one subscription, of which one is never handed over.

    Bob takes over from Ann, whose trace is cut or closed: without it nobody can tell whether the event was lost.
    """
    trace = PlantedTrace()
    ann, bob, cid, dan = (
        trace.process(name, cluster=cluster, at_ms=0)
        for name, cluster in (("ann", "home"), ("bob", "home"), ("cid", "away"), ("dan", "away"))
    )
    ann.role(at_ms=10)
    cid.role(at_ms=11)
    ann.directory(ann, "0", version=2, at_ms=12)
    ann.directory(cid, "1", version=2, at_ms=13)
    wanted = dan.subscribe(at_ms=20)
    dan.verdict(wanted, at_ms=40)
    cast = cid.cast(at_ms=21)
    cid.forward(cast, ann, "0", at_ms=22)
    ann.receive(cast, cid, "0", at_ms=23)
    ann.duplicate("cast_repeated", cast=cast, peer=cid.node, prefix="0", at_ms=24)
    for number in range(6):
        at_ms = 100.0 + 50 * number
        event = bob.publish("<b>bread</b>", at_ms=at_ms)
        cid.match(event, 1, at_ms=at_ms + 1)
        cid.store(event, owed=1, at_ms=at_ms + 2)
        cid.keep(event, at_ms=at_ms + 3)
        bob.acknowledge(event, count=1, at_ms=at_ms + 4)
        if number != 3:
            dan.deliver(event, wanted, at_ms=at_ms + 10)
        cid.outcome(event, wanted, at_ms=at_ms + 12)
        cid.discharge(event, at_ms=at_ms + 13)
    dan.duplicate("delivered_before", event=event, subscription=wanted, at_ms=420)
    bob.role(epoch=Epoch(2, bob.node, 1), at_ms=430)
    for process in (bob, cid, dan) if is_cut else (ann, bob, cid, dan):
        process.close(at_ms=500)
    return trace
