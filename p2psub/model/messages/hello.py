"""The first frames of a link."""

from __future__ import annotations

from p2psub.model.ids import Contact
from p2psub.model.messages.base import Message


class Hello(Message, frozen=True):
    """Who dials, in which incarnation, and the protocol versions it speaks."""

    overlay: str
    contact: Contact
    incarnation: int
    version_min: int
    version_max: int


class Welcome(Message, frozen=True):
    """The answer: connected, in this version. Before it arrives nobody is connected."""

    contact: Contact
    incarnation: int
    version: int
