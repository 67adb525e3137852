"""`POST /v1/subscriptions`: a subscription that lasts as long as its answer is being read.

The answer is lines of JSON without end. Items are taken from the subscription only after the lines before them were
written, so a client that reads slowly slows down its own subscription, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from p2psub.api.items import Gap, Item, Notification
from p2psub.api.problems import problem_of
from p2psub.api.schemas import NDJSON, REQUEST_BYTES_MAX, StreamLine, SubscribeRequest, line_of
from p2psub.api.values import values_from_json
from p2psub.errors import P2psubError
from p2psub.model.content import Value
from p2psub.model.ids import SubscriptionId
from p2psub.model.outcomes import SubscribeVerdict, VerdictStatus
from p2psub.runtime.control.attendance import while_connected
from p2psub.runtime.control.peer_protocol import PeerProtocol, SubscriptionProtocol
from p2psub.runtime.control.requests import Gate, body_of, read_request

BATCH_ITEMS: Final = 256
"""Lines that go into one write."""

_lines = msgspec.json.Encoder()


@dataclass(slots=True)
class OpenStream:
    """One answer that is being read: where its subscription stands, and what was written."""

    filter: str
    verdict: SubscribeVerdict
    events: int = 0
    missed: int = 0

    def note(self, item: Item) -> None:
        """Count what was written."""
        match item:
            case Notification():
                self.events += 1
            case Gap():
                self.missed += item.count
            case SubscribeVerdict():
                self.verdict = item


class OpenStreams:
    """The answers that are being read."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[SubscriptionId, OpenStream] = {}

    def __iter__(self) -> Iterator[OpenStream]:
        return iter(self._open.values())

    @contextmanager
    def having(self, stream: OpenStream) -> Iterator[None]:
        """Show a stream while the block runs."""
        self._open[stream.verdict.subscription] = stream
        try:
            yield
        finally:
            del self._open[stream.verdict.subscription]


class SubscribeEndpoint:
    """The endpoint."""

    def __init__(self, peer: PeerProtocol, gate: Gate, streams: OpenStreams) -> None:
        self._peer = peer
        self._gate = gate
        self._streams = streams

    async def subscribe(self, request: Request) -> Response:
        """Answer with lines until the client closes the connection."""
        self._gate.pass_joined()
        wanted = read_request(SubscribeRequest, await body_of(request, REQUEST_BYTES_MAX))
        return _Items(self._peer, self._streams, wanted, values_from_json(wanted.params))


class _Items(Response):
    """The verdict, then items as they come."""

    def __init__(
        self, peer: PeerProtocol, streams: OpenStreams, wanted: SubscribeRequest, params: dict[str, Value]
    ) -> None:
        super().__init__(media_type=NDJSON)
        del self.headers["content-length"]
        self._peer = peer
        self._streams = streams
        self._wanted = wanted
        self._params = params
        self._is_started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await while_connected(receive, partial(self._hold, send))

    async def _hold(self, send: Send) -> None:
        wanted = self._wanted
        try:
            async with self._peer.subscribe(
                wanted.filter,
                params=self._params,
                replay=wanted.replay,
                window=wanted.window,
                order=wanted.order,
                deadline=wanted.deadline,
                price=wanted.price,
                penalty=wanted.penalty,
            ) as subscription:
                stream = OpenStream(wanted.filter, subscription.verdict)
                with self._streams.having(stream):
                    await self._write_all(subscription, stream, send)
        except P2psubError as error:
            if not self._is_started:
                raise
            await _write(send, [StreamLine(error=problem_of(error))])
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _write_all(self, subscription: SubscriptionProtocol, stream: OpenStream, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        self._is_started = True
        await _write(send, [line_of(stream.verdict)])
        while stream.verdict.status is not VerdictStatus.REFUSED:
            items = [await subscription.take()]
            while subscription.waiting and len(items) < BATCH_ITEMS:
                items.append(await subscription.take())
            await _write(send, [line_of(item) for item in items])
            for item in items:
                stream.note(item)


async def _write(send: Send, lines: list[StreamLine]) -> None:
    await send({"type": "http.response.body", "body": _lines.encode_lines(lines), "more_body": True})
