"""Chord with Zave's maintenance: stabilisation on every beat, look-ups repeated by their origin."""

from __future__ import annotations

from typing import ClassVar

from p2psub.model.ids import ClusterId, Contact, Key
from p2psub.model.messages.base import Lane, Message


class Stabilise(Message, frozen=True):
    """Asks for the neighbourhood. `notifies`: the sender completed a stabilisation with you as its successor."""

    lane: ClassVar[Lane] = Lane.LIVENESS
    cluster: ClusterId
    notifies: bool


class Neighbourhood(Message, frozen=True):
    """The sender's predecessor and successor list."""

    lane: ClassVar[Lane] = Lane.LIVENESS
    cluster: ClusterId
    predecessor: Contact | None
    successors: tuple[Contact, ...]


class Lookup(Message, frozen=True):
    """Walks the ring to the member before `key`, which answers `origin` directly."""

    cluster: ClusterId
    number: int
    key: Key
    origin: Contact
    hops: int


class Found(Message, frozen=True):
    """The member before the key and its successor list, whose first is the key's owner."""

    cluster: ClusterId
    number: int
    predecessor: Contact
    successors: tuple[Contact, ...]
    hops: int
