"""What the public API says no to: what happened, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from p2psub.errors import P2psubError
from p2psub.model.reasons import Reason

_TEXT_MAX: Final = 40
_BITS_MAX: Final = 64


class Refusal(P2psubError):
    """Something was asked for that is not done."""

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(f"{message}; {advice}")
        self.message = message
        self.advice = advice


class BadContent(Refusal):
    """What was handed in is not valid content."""


class TooLarge(Refusal):
    """What was handed in is larger than the overlay carries."""


class NotAuthorized(Refusal):
    """The peer's certificate does not give the right."""


class NotReady(Refusal):
    """The peer has not joined yet."""


class NotTaken(Refusal):
    """The overlay has not taken an event, though the peer has the right to publish it."""


class AdmissionRefused(Refusal):
    """The overlay does not take a subscription or an advertisement: at once, or after it had accepted it."""

    def __init__(self, what: str, reason: Reason | None) -> None:
        why = "" if reason is None else f": {reason}"
        super().__init__(f"the overlay refuses the {what}{why}", refusal_advice(reason))
        self.reason = reason


class SubscriptionRefused(AdmissionRefused):
    """The overlay does not take the subscription."""

    def __init__(self, reason: Reason | None = None) -> None:
        super().__init__("subscription", reason)


class AdvertisementRefused(AdmissionRefused):
    """The overlay does not take the advertisement."""

    def __init__(self, reason: Reason | None = None) -> None:
        super().__init__("advertisement", reason)


class AlreadyEnded(Refusal):
    """The block of a subscription, an advertisement or the peer itself is over."""


_REFUSAL_ADVICE: Final[Mapping[Reason | None, str]] = {
    Reason.NOT_AUTHORIZED: "enrol with a join token that has the right to its topics",
    Reason.FILTER_TOO_LARGE: "write a shorter filter",
    Reason.BAD_BID: "name a deadline, a price and a penalty that p2psub takes",
    Reason.VOTED_DOWN: "ask for less, or again when others have ended theirs",
}


def refusal_advice(reason: Reason | None) -> str:
    """What a peer can do about a declaration that was refused."""
    return _REFUSAL_ADVICE.get(reason, "ask for less, or for the right to it")


_PUBLISH_AGAIN = "publish it again; if that does not help, see the log"
ADVICE: Final[Mapping[Reason, str]] = {
    Reason.OUTBOX_FULL: "wait until earlier events are acknowledged, then publish it again",
    Reason.ABOVE_RATE: "publish more slowly, or advertise a higher rate",
    Reason.DISK_FULL: "the disk of the topic's owner is full: free some space there, then publish again",
    Reason.OLDER_THAN_TTL: "no owner answered in time; it may have been delivered, so ask its subscribers first",
    Reason.NO_PROMISE: _PUBLISH_AGAIN,
    Reason.NOT_AUTHORIZED: "enrol with a join token that has the right to publish it",
    Reason.FOREIGN_EVENT: _PUBLISH_AGAIN,
    Reason.BAD_SIGNATURE: "start the peer again; if that does not help, enrol it anew",
}
"""What a publisher can do about an event that was refused for this reason."""


def why_not_taken(topic: str, reason: Reason) -> Refusal:
    """What the publisher of a refused event is told."""
    error = NotAuthorized if reason is Reason.NOT_AUTHORIZED else NotTaken
    return error(f"{topic}: {reason}", ADVICE.get(reason, _PUBLISH_AGAIN))


def spelled(given: object) -> str:
    """What was handed in, as a complaint says it: short, for Python refuses to write down thousands of digits."""
    if isinstance(given, str):
        return repr(given[:_TEXT_MAX])
    if isinstance(given, int) and given.bit_length() > _BITS_MAX:
        return "a number beyond 64 bits"
    if isinstance(given, int | float):
        return str(given)
    return f"a value of type {type(given).__name__}"
