"""What the process that measures tells those that are measured, and what they answer: lines of JSON, in turns."""

from __future__ import annotations

from typing import Final

import msgspec

from p2psub.bench.content import EventLoad


class WorkerOrder(msgspec.Struct, frozen=True, tag=True):
    """Answered by one line when it is carried out."""


class EnterOrder(WorkerOrder, frozen=True):
    """Be a peer of an overlay. Answered by Done once it may be used."""

    data: str
    name: str
    bootstrap: str
    token: str
    cluster: str
    traces: bool


class GatherOrder(WorkerOrder, frozen=True):
    """Wait for a ring in which these peers, by their ids, own all keys. Answered by Done once they do."""

    ids: tuple[str, ...]


class SubscribeOrder(WorkerOrder, frozen=True):
    """Give up the subscription there was, if any, and have this one. Answered by Done once all clusters know it."""

    filter: str
    window: int = 1 << 20
    """No subscriber of a benchmark is too slow to be sent more."""


class ListenOrder(WorkerOrder, frozen=True):
    """Be the end of a bare stream that is dialled, with the certificate in this directory. Answered by Listening."""

    data: str


class DialOrder(WorkerOrder, frozen=True):
    """Be the end of a bare stream that dials. Answered by Done."""

    data: str
    address: str


class PrepareOrder(WorkerOrder, frozen=True):
    """Make events, for the next PublishOrder. Answered by Done."""

    load: EventLoad


class PublishOrder(WorkerOrder, frozen=True):
    """Publish what was prepared, so many at once (1: one by one), at that rate or as fast as it goes (0).

    Answered by Published.
    """

    at_once: int
    rate_per_s: float = 0.0


class ConsumeOrder(WorkerOrder, frozen=True):
    """Consume so many events, or what comes until nothing has come for a while. Answered by Consumed."""

    count: int
    patience_s: float
    one_by_one: bool = False
    is_timed: bool = False
    """Whether to say how old each event was."""


class PingOrder(WorkerOrder, frozen=True):
    """Send an event over a bare stream and wait for it to come back, so often. Answered by Pinged."""

    count: int
    rate_per_s: float


class EchoOrder(WorkerOrder, frozen=True):
    """Send so many events back. Answered by Done."""

    count: int


class LookOrder(WorkerOrder, frozen=True):
    """Say how you are. Answered by WorkerStatus."""


class ProfileOrder(WorkerOrder, frozen=True):
    """Note from now on which functions take the time, or stop it. Answered by Done."""

    is_on: bool


class DumpProfileOrder(WorkerOrder, frozen=True):
    """Write the notes to PATH.pstats, and for people to PATH.txt. Answered by Done."""

    path: str


AnyWorkerOrder = (
    EnterOrder
    | GatherOrder
    | SubscribeOrder
    | ListenOrder
    | DialOrder
    | PrepareOrder
    | PublishOrder
    | ConsumeOrder
    | PingOrder
    | EchoOrder
    | LookOrder
    | ProfileOrder
    | DumpProfileOrder
)


class WorkerAnswer(msgspec.Struct, frozen=True):
    """What became of an order."""


class Done(WorkerAnswer, frozen=True):
    """It was carried out."""


class Listening(WorkerAnswer, frozen=True):
    """Where."""

    address: str


class Published(WorkerAnswer, frozen=True):
    """When the first call began and the last one ended, by the clock of the machine."""

    began_ns: int
    ended_ns: int


class Consumed(WorkerAnswer, frozen=True):
    """Events taken, events that were announced as missing, when the last one was taken, and how old they were."""

    count: int
    missing: int
    last_ns: int
    ages_ns: list[int] = []


class Pinged(WorkerAnswer, frozen=True):
    """How long each round trip took."""

    round_trips_ns: list[int]


class WorkerStatus(WorkerAnswer, frozen=True):
    """CPU time since the start; for a peer, who it is, and bytes put on links."""

    cpu_us: int
    id: str = ""
    bytes_out: int = 0


_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(AnyWorkerOrder)


def encode_line(said: WorkerOrder | WorkerAnswer) -> bytes:
    """One line."""
    return _encoder.encode(said) + b"\n"


def decode_order(line: bytes) -> AnyWorkerOrder:
    """The inverse, for orders; answers are decoded by the side that knows what it asked."""
    order: AnyWorkerOrder = _decoder.decode(line)
    return order
