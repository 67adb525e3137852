"""The super-node's list of its members: which are heard, how capable they are, which would succeed."""

from __future__ import annotations

from typing import Final

from p2psub.config import ClusterConfig
from p2psub.model.ids import Contact, NodeId
from p2psub.model.messages.cluster import Heartbeat
from p2psub.model.step import Step
from p2psub.overlay.census import Census

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

    `copies` are what an acknowledgement needs where there are members enough.
    """

    def __init__(self, step: Step, config: ClusterConfig, copies: int, census: Census) -> None:
        self._step = step
        self._config = config
        self._copies = copies
        self._began_tick = step.tick
        self.census = census
        self.members: dict[NodeId, Member] = {}
        self.candidates: list[Contact] = []

    def note(self, peer: Contact, heartbeat: Heartbeat) -> bool:
        """Note a heartbeat; True if the member is new, or is back in a new incarnation."""
        before = self.members.get(peer.id)
        is_new = before is None or before.heartbeat.incarnation != heartbeat.incarnation
        self.members[peer.id] = Member(peer, heartbeat)
        self.census.note(peer, heartbeat)
        return is_new

    def drop(self, member: NodeId) -> None:
        """A member is dead, or has left."""
        self.members.pop(member, None)
        self.candidates = [c for c in self.candidates if c.id != member]

    def dismiss(self, member: NodeId) -> None:
        """A member has left and given away what it held: no copy is expected of it."""
        self.drop(member)
        self.census.dismiss(member)

    def tick(self) -> None:
        self.census.review(self.members, 2 * self._copies)
        if self._step.tick % 100 == 0:
            self.census.forget()
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
        leaving = len([member for member in self.members.values() if member.heartbeat.leaving])
        return self.census.count - leaving + (len(self._kept()) if leaving else 0)

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
        leaving = [m.contact for m in self.members.values() if m.heartbeat.leaving and m.heartbeat.in_ring]
        if not leaving:
            return leaving
        owners_min = min(self._copies, (self.census.count + 1) // 2)
        lacking = max(0, owners_min - 1 - len(self._staying_in_ring()))
        return sorted(leaving, key=lambda contact: contact.id)[:lacking]

    def small_ring(self, successors: int) -> tuple[Contact, ...]:
        """The whole list while the ring has no more than r + 1 members, else nothing.

        Zave's rules need r + 1 principals, so the last list handed out makes exactly those.
        """
        if len(self.members) > successors:
            return ()
        return tuple(sorted([*self.contacts(), self._step.me], key=lambda contact: contact.id))
