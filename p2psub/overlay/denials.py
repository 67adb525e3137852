"""The nodes that the authority denies: the newest signed list there is, passed on from node to node.

Dates are compared when a link opens, when a newer list arrives, and now and then, so that a list reaches every node
that has a link to a node that has it, also without the bootstrap. A node that starts asks every member it remembers:
else a denied one that it meets first could keep it for itself. Whether a list is signed is not for a core to find
out: a function that it is given says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from p2psub.model.effects import Deny
from p2psub.model.ids import Contact, NodeId
from p2psub.model.messages.denials import DenyOffer, DenyResponse
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step

ASK_EVERY_TICKS: Final = 120
"""How often the bootstrap is asked, and neighbours are told again: every minute. A guess; news do not wait for it."""

IsSigned = Callable[[DenyResponse], bool]


class Denials:
    """The list of this node; `source` is the node that hears of new ones first, `members` are other nodes to ask."""

    def __init__(
        self,
        step: Step,
        is_signed: IsSigned,
        known: DenyResponse | None = None,
        source: Contact | None = None,
        members: Callable[[], Iterable[Contact]] = tuple,
    ) -> None:
        self._step = step
        self._is_signed = is_signed
        self._known = known
        self._source = source
        self._members = members
        self._linked: dict[NodeId, Contact] = {}

    @property
    def issued_s(self) -> int:
        """Which list we have."""
        return 0 if self._known is None else self._known.issued_s

    def link_up(self, peer: Contact) -> None:
        self._linked[peer.id] = peer
        if self._known is not None:
            self._offer(peer)

    def link_lost(self, peer: NodeId) -> None:
        self._linked.pop(peer, None)

    def on_offer(self, peer: Contact, offer: DenyOffer) -> None:
        """Give the newer list, or ask for it."""
        if self._known is not None and offer.issued_s < self.issued_s:
            self._step.send(peer, self._known)
        elif offer.issued_s > self.issued_s:
            self._offer(peer)

    def on_deny_response(self, peer: Contact, say: DenyResponse) -> None:
        """Heed a newer list, from whatever node, if the authority signed it."""
        if say.issued_s <= self.issued_s:
            return
        if not self._is_signed(say):
            self._step.record(Kind.DROP, peer=peer.id, reason=Reason.DENY_LIST_NOT_SIGNED)
            return
        self._heed(say)

    def learn(self, say: DenyResponse) -> None:
        """Heed a list that our own driver was given by the authority."""
        if say.issued_s > self.issued_s:
            self._heed(say)

    def _heed(self, say: DenyResponse) -> None:
        self._known = say
        self._step.effects.append(Deny(say))
        for peer in self._linked.values():
            if peer.id not in say.ids:
                self._offer(peer)

    def _offer(self, peer: Contact) -> None:
        self._step.send(peer, DenyOffer(self.issued_s))

    def tick(self) -> None:
        """Ask the source for news, and show the others what we have: an offer may have been lost."""
        is_first = self._step.tick == 1
        if self._source is None or (self._step.tick % ASK_EVERY_TICKS and not is_first):
            return
        asked = {self._source.id: self._source, **(self._linked if self._known is not None else {})}
        if is_first:
            asked.update({member.id: member for member in self._members()})
        for peer in asked.values():
            self._offer(peer)
