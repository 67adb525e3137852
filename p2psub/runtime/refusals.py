"""What the public API says no to: what happened, and what to do next."""

from __future__ import annotations

from p2psub.errors import P2psubError


class Refusal(P2psubError):
    """Something was asked for that is not done."""

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(f"{message}; {advice}")
        self.message = message
        self.advice = advice


class BadContent(Refusal):
    """What was handed in is no content of ours."""


class TooLarge(Refusal):
    """What was handed in is larger than the overlay carries."""


class NoRight(Refusal):
    """The peer's certificate does not give the right."""


class NotReady(Refusal):
    """The peer has not joined yet."""
