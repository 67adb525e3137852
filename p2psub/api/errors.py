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


class NotAuthorized(Refusal):
    """The peer's certificate does not give the right."""


class NotReady(Refusal):
    """The peer has not joined yet."""


class NotTaken(Refusal):
    """The overlay has not taken an event, though the peer has the right to publish it."""


class SubscriptionRefused(Refusal):
    """The overlay does not take the subscription."""


class AdvertisementRefused(Refusal):
    """The overlay does not take the advertisement."""


class AlreadyEnded(Refusal):
    """The block of a subscription or an advertisement is over."""


_ADVICE = {
    "above_rate": "publish more slowly, or advertise a higher rate",
    "outbox_full": "wait until earlier events are acknowledged, then publish it again",
    "bad_signature": "start the peer again; if that does not help, enrol it anew",
}


def why_not_taken(topic: str, reason: str) -> Refusal:
    """What to tell whoever published an event that was refused."""
    if reason == "not_authorized":
        return NotAuthorized(f"{topic}: {reason}", "enrol with a join token that has the right to publish it")
    return NotTaken(f"{topic}: {reason}", _ADVICE.get(reason, "publish it again; if that does not help, see the log"))
