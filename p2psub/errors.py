"""What can go wrong, by whose fault. Our own bugs are `assert`s; refusals inside the cores are values, not errors."""

from __future__ import annotations


class P2psubError(Exception):
    """Root of every error that p2psub raises on purpose."""


class ConfigError(P2psubError):
    """A setting is missing or impossible; `field` is its path."""

    def __init__(self, field: str, advice: str) -> None:
        super().__init__(f"{field}: {advice}")
        self.field = field
        self.advice = advice


class PeerFault(P2psubError):
    """The other side broke the protocol: close that link, count it, go on."""


class FrameError(PeerFault):
    """Bytes that are not a frame of ours: wrong magic, length or checksum."""


class OversizedFrame(FrameError):
    """A length above the cap; refused before anything is allocated."""


class UnknownVersion(PeerFault):
    """The other side speaks another version of the protocol."""


class MalformedMessage(PeerFault):
    """A sound frame whose content is not a message of ours."""
