"""What the peers we are linked to may do, as their certificates say. Owners and super-nodes ask before they serve."""

from __future__ import annotations

from typing import Final

from p2psub.matching.limits import excess_of
from p2psub.model.bids import is_allowed
from p2psub.model.content import Declaration, DeclarationState, Subscription, pinned_topics
from p2psub.model.ids import NodeId
from p2psub.model.reasons import Reason
from p2psub.model.rights import Rights

_NOTHING: Final = Rights((), (), may_lead=False)


class Permits:
    """Rights by peer, ourselves included; a peer without a link has none."""

    def __init__(self, me: NodeId, own: Rights) -> None:
        self._rights: dict[NodeId, Rights] = {me: own}
        self._me = me

    def link_up(self, peer: NodeId, rights: Rights) -> None:
        """A peer has shown its certificate."""
        self._rights[peer] = rights

    def link_lost(self, peer: NodeId) -> None:
        if peer != self._me:
            self._rights.pop(peer, None)

    def of(self, peer: NodeId) -> Rights:
        """What a peer may do."""
        return self._rights.get(peer, _NOTHING)

    def refusal(self, peer: NodeId, record: Declaration) -> Reason | None:
        """Why a peer's record is not numbered; an application of our own was told before, by the API."""
        if excess_of(record.filter) is not None:
            return Reason.FILTER_TOO_LARGE
        is_wish = isinstance(record, Subscription)
        if isinstance(record, Subscription) and not is_allowed(record.bid):
            return Reason.BAD_BID
        rights, topics = self.of(peer), pinned_topics(record.filter)
        has_right = rights.may_subscribe(topics) if is_wish else rights.may_advertise(topics)
        return None if has_right or record.state is DeclarationState.ENDED else Reason.NOT_AUTHORIZED
