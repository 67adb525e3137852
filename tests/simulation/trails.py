"""Hand-made evidence: a sound little run, for tests that plant one violation in it."""

from __future__ import annotations

from typing import Any

import msgspec

from p2psub.config import NodeConfig
from p2psub.model.bids import PRICE_ONE
from p2psub.model.books import EMPTY_BOOKS, BookSums
from p2psub.model.changes import ChangeNumber, LogId
from p2psub.model.content import TOPIC, DeclarationState, Event, Filter, Operator, Predicate, Subscription
from p2psub.model.digests import content_hash
from p2psub.model.ids import ClusterId, Contact, Epoch, EventId, NodeId, Place, SubscriptionId
from p2psub.model.instants import Stamp
from p2psub.model.outcomes import Outcome, VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind, Record
from p2psub.model.status import LifeStage, NodeStatus, Role
from sims.checkers.evidence import Evidence, Phases, Site
from sims.engine.faults import Crash, Cut, FaultLog

H = 1_000_000
CLUSTER = ClusterId("c000")


def node(n: int) -> NodeId:
    """The n-th node on the circle."""
    return NodeId(Place(bytes([n]) * 20))


EPOCH = Epoch(1, node(0), 1)
STREAM = LogId(CLUSTER, EPOCH)
WANTED = Filter(((Predicate(TOPIC, Operator.EQUAL, "t"),),))
SUBSCRIPTION = Subscription(SubscriptionId(node(3), 1, 1), 1, DeclarationState.ACTIVE, CLUSTER, WANTED)
STABLE = {"status": VerdictStatus.STABLE, "state": DeclarationState.ACTIVE}
EVENT = Event(EventId(node(4), 1, 1), "t", {"x": 1})
PAIR = {"event": EVENT.id, "subscription": SUBSCRIPTION.id}


class Trail:
    """Records in the making; each gets the next sequence and stamp of its node."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, Record]] = []
        self._sequences: dict[tuple[NodeId, int], int] = {}

    def add(self, at_us: int, kind: Kind, who: int, *, incarnation: int = 1, **fields: Any) -> None:
        """One record."""
        process = (node(who), incarnation)
        self._sequences[process] = self._sequences.get(process, 0) + 1
        sequence = self._sequences[process]
        stamp = Stamp(at_us, sequence)
        record = Record(kind=kind, node=node(who), incarnation=incarnation, sequence=sequence, stamp=stamp, **fields)
        self.entries.append((at_us, record))


def sound_trail(*, without: tuple[Kind, ...] = ()) -> Trail:
    """One subscription, one event, all as promised; `without` leaves kinds out."""
    trail = Trail()
    rows: list[tuple[int, Kind, int, dict[str, Any]]] = [
        (1 * H, Kind.ROLE, 0, {"cluster": CLUSTER, "epoch": EPOCH, "reason": Reason.SUPER_NODE}),
        (11 * H, Kind.SUBSCRIBE, 3, {"subscription": SUBSCRIPTION.id, "subscribed": SUBSCRIPTION}),
        (12 * H, Kind.NUMBER, 0, {"number": ChangeNumber(STREAM, 1), "subscribed": SUBSCRIPTION}),
        (12 * H, Kind.CAST, 0, {"cast": (node(0), 1, 1), "payload": "ChangePayload"}),
        (12 * H, Kind.CHANGE, 0, {"number": ChangeNumber(STREAM, 1), "subscribed": SUBSCRIPTION}),
        (13 * H, Kind.VERDICT, 3, {"subscription": SUBSCRIPTION.id, **STABLE}),
        (20 * H, Kind.PUBLISH, 4, {"event": EVENT.id, "digest": content_hash(EVENT), "published": EVENT}),
        (20 * H + 1, Kind.COPY, 1, {"event": EVENT.id}),
        (20 * H + 1, Kind.COPY, 2, {"event": EVENT.id}),
        (20 * H + 2, Kind.STORE, 0, {"event": EVENT.id, "vector": ((STREAM, 1),), "matched": 1}),
        (20 * H + 3, Kind.ACKNOWLEDGE, 4, {"event": EVENT.id, "copies": 3, "matched": 1}),
        (20 * H + 4, Kind.RECEIVE, 0, {"cast": (node(4), 1, 1), "prefix": "0"}),
        (20 * H + 5, Kind.DUPLICATE, 0, {"cast": (node(4), 1, 1), "prefix": "0", "reason": Reason.CAST_REPEATED}),
        (20 * H + 6, Kind.DELIVER, 3, deliver()),
        (20 * H + 7, Kind.OUTCOME, 0, {**PAIR, "outcome": Outcome.DELIVERED}),
        (20 * H + 8, Kind.DISCHARGE, 0, {"event": EVENT.id}),
    ]
    for at_us, kind, who, fields in rows:
        if kind not in without:
            trail.add(at_us, kind, who, **fields)
    return trail


def deliver(event: Event = EVENT, subscription: Subscription = SUBSCRIPTION) -> dict[str, Any]:
    """The fields of a subscriber."""
    return {"event": event.id, "subscription": subscription.id, "digest": content_hash(event)}


def sound_statuses(count: int = 5) -> list[NodeStatus]:
    """An ideal ring under one super-node."""
    return [status(n, count) for n in range(count)]


def status(n: int, count: int = 5, **changes: Any) -> NodeStatus:
    """One member of an ideal ring, with changes."""
    fields: dict[str, Any] = {
        "id": node(n),
        "incarnation": 1,
        "cluster": CLUSTER,
        "stage": LifeStage.SUPER_NODE if n == 0 else LifeStage.MEMBER,
        "role": Role.SUPER_NODE if n == 0 else Role.MEMBER,
        "epoch": EPOCH,
        "super_node": contact(0),
        "candidates": (),
        "predecessor": contact((n - 1) % count),
        "successors": tuple(contact((n + step) % count) for step in range(1, min(4, count))),
        "table": None,
        "owners": (),
        "serves": True,
        "prefix": None,
        "clusters": (),
        "filling": False,
        "outbox": 0,
        "undischarged": 0,
        "kept": (),
        "changes_digest": b"same",
        "active_subscriptions": (),
        "active_advertisements": (),
        "advertised": (),
        "hears_no_member": False,
        "queued_messages": 0,
        "queued_messages_max": 7,
    }
    return NodeStatus(**(fields | changes))


def contact(n: int) -> Contact:
    """Where the n-th node is."""
    return Contact(node(n), f"n{n}")


def _booked(trail: Trail, said: NodeStatus) -> NodeStatus:
    """A status whose books are right, where nothing is bid."""
    books = EMPTY_BOOKS
    for _, record in trail.entries:
        if record.kind is Kind.OUTCOME and (record.node, record.incarnation) == (said.id, said.incarnation):
            pairs = record.run or 1
            if record.outcome is Outcome.DELIVERED:
                books = books.plus(BookSums(pairs, pairs * PRICE_ONE, 0, {}))
            elif record.outcome not in (Outcome.UNSUBSCRIBED, Outcome.ENDED, Outcome.REFUSED):
                books = books.plus(BookSums(0, 0, 0, {record.reason or Reason.DEADLINE: pairs}))
    return msgspec.structs.replace(said, promised_books=books)


def evidence_of(trail: Trail, statuses: list[NodeStatus] | None = None, count: int = 5) -> Evidence:
    """A whole run around these records: three crashes, a long cut, all in order again at the end."""
    said = [_booked(trail, one) for one in (sound_statuses(count) if statuses is None else statuses)]
    sites = [Site(n, node(n), CLUSTER, 1, 0) for n in range(count)]
    crashes = [Crash((30 + n) * H, 1, 1, CLUSTER, False, False, False) for n in range(3)]
    return Evidence(
        config=NodeConfig(),
        phases=Phases(10 * H, 18 * H, 50 * H, 120 * H),
        entries=trail.entries,
        sites=sites,
        faults=FaultLog(crashes=crashes, cuts=[Cut(30 * H, "halves", 39 * H)]),
        fault_kinds=frozenset({"crash", "partition"}),
        at_ring_bound=said,
        at_outbox_bound=said,
        at_end=said,
        obligations_min=1,
    )
