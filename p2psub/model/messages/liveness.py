"""Is it there? Repeated on every tick while a peer is silent; answering twice is harmless."""

from __future__ import annotations

from typing import ClassVar

from p2psub.model.ids import Contact, NodeId
from p2psub.model.messages.base import Lane, Message


class Ping(Message, frozen=True):
    """Asks a silent peer for a sign of life."""

    lane: ClassVar[Lane] = Lane.LIVENESS


class Pong(Message, frozen=True):
    """The sign of life."""

    lane: ClassVar[Lane] = Lane.LIVENESS


class WitnessRequest(Message, frozen=True):
    """Asks a second witness whether it hears the suspect."""

    lane: ClassVar[Lane] = Lane.LIVENESS
    suspect: Contact


class WitnessResponse(Message, frozen=True):
    """The witness heard the suspect just now. A witness that hears nothing says nothing."""

    lane: ClassVar[Lane] = Lane.LIVENESS
    suspect: NodeId
