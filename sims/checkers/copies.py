"""S5 and S9: an acknowledgement's copies exist, and all copies exist again after quiet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from p2psub.model.content import Guarantee
from p2psub.model.ids import ClusterId, Epoch, EventId, NodeId
from p2psub.model.records import Kind, Record
from p2psub.model.status import NodeStatus, Role
from sims.checkers.evidence import Evidence, Finding
from sims.checkers.obligations import published_events, store_behind, stores_of

JOIN_HEARTBEATS = 10
"""A member that joined this long ago is known to every super-node that may come."""


@dataclass(slots=True)
class _Members:
    """Who has joined one cluster, and whom a minority let in: a majority beyond a cut cannot know of those (0035)."""

    joined_us: dict[NodeId, int] = field(default_factory=dict)
    _terms: dict[NodeId, Epoch | None] = field(default_factory=dict)
    _by_majority: dict[NodeId, bool] = field(default_factory=dict)
    """Of those that obeyed a table, whether most members before them were in it, or in one that they obeyed later."""

    def obey(self, node: NodeId, epoch: Epoch | None, owners: int) -> None:
        """A member obeys a table of so many owners."""
        self._terms[node] = epoch
        if not self._by_majority.get(node, False):
            counted = [member for member, is_counted in self._by_majority.items() if is_counted]
            newcomers = sum(term == epoch and member not in counted for member, term in self._terms.items())
            self._by_majority[node] = not counted or 2 * (owners - newcomers) > len(counted)

    def leave(self, node: NodeId) -> None:
        """A member has left gracefully."""
        for known in (self.joined_us, self._terms, self._by_majority):
            known.pop(node, None)

    def seen(self, owner: NodeId, joined_by_us: int) -> int:
        """How many an owner's side must have seen that had joined by then."""
        ours = self._terms.get(owner)
        return sum(
            at_us <= joined_by_us and (self._by_majority.get(node, True) or self._terms[node] == ours)
            for node, at_us in self.joined_us.items()
        )


def check_stated_copies(evidence: Evidence) -> Iterator[Finding]:
    """S5: by the time of an acknowledgement as many nodes had made the event durable as it says."""
    needs_copies = _needs_copies(evidence)
    holders: dict[EventId | None, set[NodeId]] = {}
    for at_us, record in evidence.of(Kind.STORE, Kind.COPY, Kind.ACKNOWLEDGE):
        if record.kind is not Kind.ACKNOWLEDGE:
            holders.setdefault(record.event, set()).add(record.node)
        elif record.copies is None:
            yield Finding("S5", "an acknowledgement that states no copies", record, at_us)
        elif record.copies > (held := len(holders.get(record.event, ()))) and needs_copies(at_us, record):
            yield Finding("S5", f"acknowledged with {record.copies} copies, {held} were durable", record, at_us)


def check_enough_copies(evidence: Evidence) -> Iterator[Finding]:
    """S5: an acknowledgement has min(3, a majority of the members seen lately) copies, whatever is cut off or down.

    Members count from ten heartbeats after they first joined: a ring being founded acknowledges with fewer, and says
    so. A member that has left counts no more. While some leave, half of the members are enough; one that falls instead
    leaves until its super-node can know that. What owes nothing any more when its publisher asks again needs no copies,
    nor does what nobody wants.
    """
    needs_copies = _needs_copies(evidence)
    departures = evidence.faults.departures
    cluster_of = {site.node: site.cluster for site in evidence.sites}
    settled_us = JOIN_HEARTBEATS * evidence.heartbeat_us
    joined: dict[ClusterId, _Members] = {}
    discharged: set[EventId | None] = set()
    for at_us, record in evidence.of(Kind.RING, Kind.TABLE, Kind.DISCHARGE, Kind.ACKNOWLEDGE):
        cluster = cluster_of.get(record.node)
        if record.kind is Kind.DISCHARGE:
            discharged.add(record.event)
        if record.kind is Kind.DISCHARGE or cluster is None:
            continue
        members = joined.setdefault(cluster, _Members())
        if record.kind is Kind.RING:
            members.joined_us.setdefault(record.node, at_us)
            continue
        if record.kind is Kind.TABLE:
            assert record.owners is not None
            members.obey(record.node, record.epoch, record.owners)
            continue
        is_shrinking = False
        for departure in departures:
            if departure.cluster == cluster and departure.asked_us <= at_us:
                left_us = departure.left_us
                if left_us is not None and left_us <= at_us and members.joined_us.get(departure.node, at_us) < left_us:
                    members.leave(departure.node)
                noticed_us = settled_us if left_us is None else 0
                is_shrinking |= departure.ended_us is None or at_us <= departure.ended_us + noticed_us
        seen = members.seen(record.peer or record.node, at_us - settled_us)
        required = min(evidence.config.pubsub.copies, (seen + 1) // 2 if is_shrinking else seen // 2 + 1 if seen else 0)
        is_short = record.copies is not None and record.copies < required and record.event not in discharged
        if is_short and needs_copies(at_us, record):
            yield Finding("S5", f"acknowledged with {record.copies} copies, {required} are required", record, at_us)


def check_copies_after_quiet(evidence: Evidence) -> Iterator[Finding]:
    """S9: what is still owed or retained has min(r+1, N) holders in its cluster at the end."""
    clusters: dict[ClusterId, list[NodeStatus]] = {}
    for status in evidence.at_end:
        if status.cluster is not None:
            clusters.setdefault(status.cluster, []).append(status)
    due_at_end = _due_at_end(evidence)
    for cluster, statuses in sorted(clusters.items()):
        required = min(evidence.config.ring.successors + 1, len(statuses))
        held: dict[EventId, int] = {}
        for status in statuses:
            for event in status.kept:
                held[event] = held.get(event, 0) + 1
        for event in sorted(due_at_end & held.keys()):
            if held[event] < required:
                text = f"{held[event]} of {required} copies of {event.node.hex()[:8]}.{event.sequence} in {cluster}"
                yield Finding("S9", text)


def check_change_sets(evidence: Evidence) -> Iterator[Finding]:
    """S9: every super-node ends with the same changes."""
    digests = {
        status.changes_digest.hex(): status.cluster
        for status in evidence.at_end
        if status.role is Role.SUPER_NODE and status.cluster not in evidence.faults.lost_clusters
    }
    if len(digests) > 1:
        yield Finding("S9", f"super-nodes end with different changes: {sorted(digests.items())}")


def check_advertisements(evidence: Evidence) -> Iterator[Finding]:
    """S9: every super-node ends with what running peers advertise; more only of processes that have ended."""
    offered = {offer for status in evidence.at_end for offer in status.active_advertisements}
    running = {(status.id, status.incarnation) for status in evidence.at_end}
    for status in evidence.at_end:
        if status.role is not Role.SUPER_NODE or status.cluster in evidence.faults.lost_clusters:
            continue
        known = {offer for offer in status.advertised if (offer.id.node, offer.id.incarnation) in running}
        if known != offered:
            text = (
                f"{status.cluster} lacks {len(offered - known)} advertisements and keeps {len(known - offered)} others"
            )
            yield Finding("S9", text)


def _due_at_end(evidence: Evidence) -> set[EventId]:
    """Events that must still be held: acknowledged, and retained beyond the end or never discharged."""
    discharged = {record.event for _, record in evidence.of(Kind.DISCHARGE)}
    published = {record.event: (at_us, record.published) for at_us, record in evidence.of(Kind.PUBLISH)}
    needs_copies = _needs_copies(evidence)
    due: set[EventId] = set()
    for acknowledged_us, record in evidence.of(Kind.ACKNOWLEDGE):
        at_us, event = published.get(record.event, (0, None))
        if event is None or event.guarantee is not Guarantee.EFFECTIVELY_ONCE:
            continue
        if not needs_copies(acknowledged_us, record):
            continue
        if event.id not in discharged or at_us + event.retain_us > evidence.phases.end_us:
            due.add(event.id)
    return due


def _needs_copies(evidence: Evidence) -> Callable[[int, Record], bool]:
    """Whether an acknowledgement speaks of something that was owed or is retained, by the storing behind it."""
    stores, published = stores_of(evidence), published_events(evidence)

    def needs_copies(at_us: int, acknowledged: Record) -> bool:
        stored, event = store_behind(at_us, acknowledged, stores), published.get(acknowledged.event)
        matched = acknowledged.matched if stored is None or stored[1].matched is None else stored[1].matched
        return matched != 0 or (event is not None and event.retain_us > 0)

    return needs_copies
