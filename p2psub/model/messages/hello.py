"""The first frames of a link."""

from __future__ import annotations

from p2psub.model.ids import Contact
from p2psub.model.messages.base import Message


class Hello(Message, frozen=True):
    """Which node dials, in which incarnation, and the protocol version it speaks."""

    overlay: str
    contact: Contact
    incarnation: int
    version: int


class Welcome(Message, frozen=True):
    """The answer: connected, if the version is the dialler's too. Before it arrives the dialler is not connected."""

    contact: Contact
    incarnation: int
    version: int
