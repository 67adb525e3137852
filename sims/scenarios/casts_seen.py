"""Casts as a trace shows them: which node handed on to which, which took it for new, which heard it again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from p2psub.model.ids import CastId, NodeId
from p2psub.model.records import Kind, Record


@dataclass(slots=True)
class Cast:
    """One cast; hops are (sender, receiver, dimension)."""

    root: NodeId
    payload: str
    forwards: list[tuple[NodeId, NodeId, int]] = field(default_factory=list)
    received: list[tuple[NodeId, int]] = field(default_factory=list)
    """The nodes that took it for new, and after how many hops."""
    duplicates: int = 0


def casts_in(records: Iterable[Record]) -> dict[CastId, Cast]:
    """Every cast in a trace, in the order of their beginnings."""
    found: dict[CastId, Cast] = {}
    for record in records:
        if record.cast is None:
            continue
        if record.kind is Kind.CAST:
            found[record.cast] = Cast(record.node, record.payload or "")
        elif record.kind is Kind.FORWARD:
            assert record.peer is not None
            dimension = len(record.prefix or "") - 1
            found[record.cast].forwards.append((record.node, record.peer, dimension))
        elif record.kind is Kind.RECEIVE:
            found[record.cast].received.append((record.node, record.hops or 0))
        elif record.kind is Kind.DUPLICATE:
            found[record.cast].duplicates += 1
    return found
