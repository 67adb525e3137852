"""`POST /v1/advertisements`: an advertisement that stands as long as its answer is being read."""

from __future__ import annotations

from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from p2psub.api.schemas import NDJSON, REQUEST_BYTES_MAX, AdvertiseRequest, advertised_line
from p2psub.api.values import values_from_json
from p2psub.model.content import Value
from p2psub.model.outcomes import AdvertiseVerdict, VerdictStatus
from p2psub.runtime.control.attendance import while_connected
from p2psub.runtime.control.peer_protocol import PeerProtocol
from p2psub.runtime.control.requests import Gate, body_of, read_request

_lines = msgspec.json.Encoder()


class AdvertiseEndpoint:
    """The endpoint."""

    def __init__(self, peer: PeerProtocol, gate: Gate) -> None:
        self._peer = peer
        self._gate = gate

    async def advertise(self, request: Request) -> Response:
        """Answer with verdicts until the client closes the connection."""
        self._gate.pass_joined()
        offered = read_request(AdvertiseRequest, await body_of(request, REQUEST_BYTES_MAX))
        return _Verdicts(self._peer, offered, values_from_json(offered.params))


class _Verdicts(Response):
    """The first verdict, then better ones as they come."""

    def __init__(self, peer: PeerProtocol, offered: AdvertiseRequest, params: dict[str, Value]) -> None:
        super().__init__(media_type=NDJSON)
        del self.headers["content-length"]
        self._peer = peer
        self._offered = offered
        self._params = params

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await while_connected(receive, partial(self._hold, send))

    async def _hold(self, send: Send) -> None:
        offered = self._offered
        async with self._peer.advertise(offered.filter, rate=offered.rate, params=self._params) as advertisement:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            verdict: AdvertiseVerdict | None = None
            while verdict is None or verdict.status is not VerdictStatus.REFUSED:
                verdict = await advertisement.wait_verdict(verdict)
                line = _lines.encode_lines([advertised_line(verdict)])
                await send({"type": "http.response.body", "body": line, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
