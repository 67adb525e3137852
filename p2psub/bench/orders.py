"""What the process that measures tells those that are measured, and what they answer: lines of JSON, in turns."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from p2psub.api.settings import NODE
from p2psub.bench.bid_load import BidLoad
from p2psub.bench.content import EventLoad
from p2psub.config import Discipline


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
    listen: str = "127.0.0.1:0"
    public_address: str | None = None
    discipline: Discipline = NODE.egress.discipline
    """Of the queues of its links."""


class GatherOrder(WorkerOrder, frozen=True):
    """Wait for a ring in which these peers, by their ids, own all keys. Answered by Done once they do."""

    ids: tuple[str, ...]


class CubeOrder(WorkerOrder, frozen=True):
    """Wait until so many clusters have their places in the cube, yours among them. Answered by Done."""

    clusters: int


class SubscribeOrder(WorkerOrder, frozen=True):
    """Give up the subscriptions there were, if any, and have these. Answered by Done once all clusters know them."""

    filters: tuple[str, ...]
    window: int = 1 << 20
    """No subscriber of a benchmark is too slow to be sent more."""


class BidOrder(WorkerOrder, frozen=True):
    """Have the subscriptions with these numbers of a load, with their bids. Answered by Bids, once all know them."""

    load: BidLoad
    numbers: tuple[int, ...]


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


class FollowOrder(WorkerOrder, frozen=True):
    """Consume what comes to all subscriptions beside other orders, and keep a new roll of it. Answered by Done."""


class PublishForOrder(WorkerOrder, frozen=True):
    """Publish a load again and again for so long, and keep a roll of it: by some calls under way, or at a rate.

    Answered by Published when all is acknowledged, or when patience ends.
    """

    load: EventLoad
    seconds: float
    patience_s: float
    calls: int
    at_once: int
    """Events in a call."""
    rate_per_s: float = 0.0
    """If there is one, every event has a call of its own, whatever else is under way."""


class OfferOrder(WorkerOrder, frozen=True):
    """Publish a load, each event at its instant, whatever else is under way. Answered by Offered."""

    load: BidLoad


class NoteOrder(WorkerOrder, frozen=True):
    """Note from now on what your links carry, and which events you consume. Answered by Done."""


class NotesOrder(WorkerOrder, frozen=True):
    """Say what you noted, and note no more. Answered by BidderNotes."""


class RollOrder(WorkerOrder, frozen=True):
    """Say which events were acknowledged to you and which you consumed. Answered by EventRoll."""


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
    | CubeOrder
    | SubscribeOrder
    | BidOrder
    | ListenOrder
    | DialOrder
    | PrepareOrder
    | PublishOrder
    | ConsumeOrder
    | FollowOrder
    | PublishForOrder
    | OfferOrder
    | NoteOrder
    | NotesOrder
    | RollOrder
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
    """When the first call began and the last one ended, by the clock of the machine.

    After a PublishForOrder also how many events were acknowledged, and how many were not, refused or out of patience.
    """

    began_ns: int
    ended_ns: int
    acknowledged: int = 0
    unacknowledged: int = 0


class Consumed(WorkerAnswer, frozen=True):
    """Events taken, events that were announced as missing, when the last one was taken, and how old they were."""

    count: int
    missing: int
    last_ns: int
    ages_ns: list[int] = []


class Pinged(WorkerAnswer, frozen=True):
    """How long each round trip took."""

    round_trips_ns: list[int]


class EventRoll(WorkerAnswer, frozen=True):
    """Which events a peer had acknowledged and which it consumed: bitmaps, serialized, of their publishers' numbers."""

    acknowledged: dict[str, bytes]
    """By topic."""
    consumed: dict[str, bytes]
    """By publisher."""
    duplicates: int
    """How often it consumed an event that it had consumed before."""
    ages_ns: dict[int, int]
    """How many events were of which age, rounded, when they were consumed."""


class Bids(WorkerAnswer, frozen=True):
    """What the overlay calls the subscriptions, by their numbers."""

    subscriptions: dict[int, str]


class Offered(WorkerAnswer, frozen=True):
    """When each event was published, by its number and the clock of the machine, and which number its id has.

    What was refused has the number 0.
    """

    published_ns: tuple[int, ...]
    sequences: tuple[int, ...]


class HandOver(NamedTuple):
    """An application consumed an event."""

    subscription: int
    event: int
    at_ns: int


class LinkNotes(msgspec.Struct, frozen=True):
    """What went over the link to one peer."""

    committed: list[int]
    """Bytes under way, at one instant after the other at which any were."""
    beats_us: list[int]
    """What our clock said when a heartbeat was heard, less what the peer's had said when it was sent."""
    paces: list[tuple[int, float]]
    """Microseconds that a KB takes, as far as the queue knows, and when it began to take it for that."""
    silence_us_max: int
    """Between one frame and the next."""
    bodies: int
    """That were heard, one for each message and event in it."""
    distinct_bodies: int
    """The same, each event once."""


class BidderNotes(WorkerAnswer, frozen=True):
    """What a peer noted since the NoteOrder, and how its steady clock differs from that of the machine."""

    hand_overs: tuple[HandOver, ...]
    links: dict[str, LinkNotes]
    """By the id of the peer."""
    clock_off_us: int


class WorkerStatus(WorkerAnswer, frozen=True):
    """CPU time since the start, and memory; for a peer, who it is, and what it counts."""

    cpu_us: int
    id: str = ""
    bytes_out: int = 0
    """Put on links, as are messages."""
    messages_out: int = 0
    rows: int = 0
    commits: int = 0
    rss_bytes: int = 0
    followed: int = 0
    """Different events consumed since the FollowOrder, the last one at this instant."""
    followed_ns: int = 0
    owed: int = 0
    """Events that it has published or stored and that are not discharged."""


_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(AnyWorkerOrder)


def encode_line(said: WorkerOrder | WorkerAnswer) -> bytes:
    """One line."""
    return _encoder.encode(said) + b"\n"


def decode_order(line: bytes) -> AnyWorkerOrder:
    """The inverse, for orders; answers are decoded by the side that knows what it asked."""
    order: AnyWorkerOrder = _decoder.decode(line)
    return order
