"""The deny list from node to node: dates are compared, and the node that has the older one is given the newer."""

from __future__ import annotations

from typing import Annotated

import msgspec

from p2psub.model.ids import ID_BYTES, Natural, NodeId
from p2psub.model.messages.base import SMALL, Message

DENIED_MAX = 1 << 15
"""Fits into one frame; the authority leaves out ids whose last certificate has run out."""


class DenyOffer(Message, frozen=True):
    """The newest list that the sender knows, by its date; 0 if it knows none."""

    issued_s: Natural


class DenyResponse(Message, frozen=True):
    """A list, for a node whose own is older: the ids to refuse, as the authority signed them."""

    issued_s: Natural
    ids: Annotated[tuple[NodeId, ...], msgspec.Meta(max_length=DENIED_MAX)]
    signature: Annotated[bytes, msgspec.Meta(max_length=64)]

    @property
    def weight(self) -> int:
        return SMALL + (ID_BYTES + 2) * len(self.ids)
