"""The super-node's list of its members: which are heard, how capable they are, which would succeed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from p2psub.config import ClusterConfig
from p2psub.model.ids import Contact, NodeId
from p2psub.model.messages.cluster import Heartbeat
from p2psub.model.step import Step

_REPORTING_TICKS: Final = 8
"""Until then members may not have heard of a new term. A guess: four heartbeats."""

SURPASSING: Final = 1.2
"""How many times a candidate's score another must have to take its rank. A guess: a fifth more."""


class Member:
    """A member and its last heartbeat."""

    __slots__ = ("contact", "heartbeat")

    def __init__(self, contact: Contact, heartbeat: Heartbeat) -> None:
        self.contact = contact
        self.heartbeat = heartbeat


class Roster:
    """Members that send heartbeats to the super-node of one term, the super-node excluded.

    Members `known` at its beginning count as seen. `seen_min` is for a node that forgot its cluster: it must assume
    that there were so many. `copies` are what an acknowledgement needs where there are members enough.
    """

    def __init__(
        self, step: Step, config: ClusterConfig, copies: int, known: Iterable[Contact] = (), seen_min: int = 1
    ) -> None:
        self._step = step
        self._config = config
        self._copies = copies
        self._seen: dict[NodeId, int] = {contact.id: step.tick for contact in known}
        self._known = set(self._seen)
        self._seen_min = seen_min
        self._began_tick = step.tick
        self.members: dict[NodeId, Member] = {}
        self.candidates: list[Contact] = []

    def note(self, peer: Contact, heartbeat: Heartbeat) -> bool:
        """Note a heartbeat; True if the member is new, or is back in a new incarnation."""
        before = self.members.get(peer.id)
        is_new = before is None or before.heartbeat.incarnation != heartbeat.incarnation
        self.members[peer.id] = Member(peer, heartbeat)
        for contact in heartbeat.met:
            self._seen.setdefault(contact.id, self._step.tick)
        self._seen[peer.id] = self._step.tick
        return is_new

    def drop(self, member: NodeId) -> None:
        """A member is dead, or has left."""
        self.members.pop(member, None)
        self.candidates = [c for c in self.candidates if c.id != member]

    def dismiss(self, member: NodeId) -> None:
        """A member has left and given away what it held: no copy is expected of it."""
        self.drop(member)
        self._seen.pop(member, None)
        if member in self._known:
            self._known.discard(member)
            self._seen_min -= 1

    def tick(self) -> None:
        if self._step.tick % 100 == 0:
            oldest = self._step.tick - self._config.seen_ticks
            self._seen = {node: tick for node, tick in self._seen.items() if tick >= oldest}
        if self._step.tick % 4 == 0:
            self._rank()

    def _rank(self) -> None:
        """Rank the most capable members; a candidate holds the state already, and gives way to a far better one only.

        Scores are measured and waver: without that, candidates would come and go, each with the whole state to be sent.
        Members that leave come last: they lead only if no other can.
        """
        able = {node: m for node, m in self.members.items() if m.heartbeat.in_ring and m.heartbeat.score >= 0}
        held = [able.pop(contact.id) for contact in self.candidates if contact.id in able]
        line = held + sorted(able.values(), key=lambda m: (-m.heartbeat.score, m.contact.id))
        for start in range(1, len(line)):
            place = start
            while place and line[place].heartbeat.score > SURPASSING * line[place - 1].heartbeat.score:
                line[place - 1], line[place] = line[place], line[place - 1]
                place -= 1
        line.sort(key=lambda member: member.heartbeat.leaving)
        self.candidates = [member.contact for member in line[: self._config.candidates]]

    @property
    def seen(self) -> int:
        """Members seen lately, alive or not, ourselves included; but for those that leave and hold no keys."""
        return self._all_seen - sum(member.heartbeat.leaving for member in self.members.values()) + len(self._kept())

    @property
    def _all_seen(self) -> int:
        seen = len(self._seen) + (self._step.me.id not in self._seen)
        is_recent = self._step.tick - self._began_tick < self._config.seen_ticks
        return max(seen, self._seen_min) if is_recent else seen

    @property
    def hears_no_member(self) -> bool:
        """Whether there were other members lately, and none of them is heard."""
        return not self.members and self.seen > 1 and self._step.tick - self._began_tick > _REPORTING_TICKS

    @property
    def is_last(self) -> bool:
        """Whether we are the only member, as far as we can know."""
        return not self.members and (self.seen == 1 or self.hears_no_member)

    def staying(self) -> list[Contact]:
        """The members that do not leave."""
        return [member.contact for member in self.members.values() if not member.heartbeat.leaving]

    def contacts(self) -> list[Contact]:
        return [member.contact for member in self.members.values()]

    def owners(self) -> list[Contact]:
        """The members that may hold keys: those in the ring that stay, ourselves, and leavers we need, clockwise."""
        return sorted([*self._staying_in_ring(), *self._kept(), self._step.me], key=lambda contact: contact.id)

    def _staying_in_ring(self) -> list[Contact]:
        members = self.members.values()
        return [m.contact for m in members if m.heartbeat.in_ring and not m.heartbeat.leaving]

    def _kept(self) -> list[Contact]:
        """The leavers that hold keys on: one member more than the budget lets fail must do so (docs/promises.md)."""
        leaving = [m.contact for m in self.members.values() if m.heartbeat.in_ring and m.heartbeat.leaving]
        owners_min = min(self._copies, (self._all_seen + 1) // 2)
        lacking = max(0, owners_min - 1 - len(self._staying_in_ring())) if leaving else 0
        return sorted(leaving, key=lambda contact: contact.id)[:lacking]

    def small_ring(self, successors: int) -> tuple[Contact, ...]:
        """The whole list while the ring has no more than r + 1 members, else nothing.

        Zave's rules need r + 1 principals, so the last list handed out makes exactly those.
        """
        if len(self.members) > successors:
            return ()
        return tuple(sorted([*self.contacts(), self._step.me], key=lambda contact: contact.id))
