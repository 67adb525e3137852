"""Requests of the control API, read within limits."""

from __future__ import annotations

from contextlib import aclosing
from typing import TypeVar

import msgspec
from starlette.requests import Request

from p2psub.api.errors import BadContent, NotReady, TooLarge
from p2psub.api.schemas import AdvertiseRequest, PublishRequest, SubscribeRequest
from p2psub.runtime.control.peer_protocol import PeerProtocol

Body = TypeVar("Body", PublishRequest, SubscribeRequest, AdvertiseRequest)


async def body_of(request: Request, bytes_max: int) -> bytes:
    """The body of a request; TooLarge as soon as it exceeds the limit."""
    body = bytearray()
    async with aclosing(request.stream()) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > bytes_max:
                raise TooLarge(f"the request has more than {bytes_max:,} bytes", "send less in one request")
    return bytes(body)


def read_request(kind: type[Body], text: bytes) -> Body:
    """A request out of its JSON; BadContent names the field at fault."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise BadContent(str(error), "GET /openapi.json describes the fields") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadContent(f"the request is not valid JSON: {error}", "send one JSON object, in UTF-8") from error


class Gate:
    """Refuses what a peer that has never joined cannot do; later the overlay itself says what goes."""

    __slots__ = ("_has_joined", "_peer")

    def __init__(self, peer: PeerProtocol) -> None:
        self._peer = peer
        self._has_joined = False

    def pass_joined(self) -> None:
        """Raise NotReady, with what is missing, until the peer has been ready once."""
        self._has_joined = self._has_joined or self.pass_ready()

    def pass_ready(self) -> bool:
        """Raise NotReady, with what is missing, unless the peer is ready now."""
        status = self._peer.status()
        if not status.ready:
            missing = f": {status.missing}" if status.missing else ""
            others = "".join(f"; {text}" for text in status.troubles.values() if text != status.missing)
            message = f"the peer is not ready, it is {status.stage}{missing}{others}"
            raise NotReady(message, "wait until it is; p2psub status and GET /readyz tell")
        return True
