"""The door of the control API: who may come in, and in what order things are said.

A web page that has its own name point to 127.0.0.1 would reach us from the user's browser: a Host that is not
loopback is refused. Everything but the probes needs the token.
"""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from p2psub.api.problems import Problem
from p2psub.runtime.control.responses import problem_response

OPEN_PATHS: Final = frozenset(["/healthz", "/readyz", "/openapi.json"])
"""Need no token."""

LOOPBACK_NAMES: Final = frozenset(["127.0.0.1", "localhost", "[::1]"])


class Guard:
    """Lets in who calls us by a loopback name and holds the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # No websockets here.
        receive, send = body_first(receive, send)
        headers = Headers(scope=scope)
        if not _is_loopback(headers.get("host", "")):
            await problem_response(HTTPStatus.MISDIRECTED_REQUEST, _MISDIRECTED)(scope, receive, send)
        elif scope["path"] not in OPEN_PATHS and not self._holds_token(headers.get("authorization", "")):
            await problem_response(HTTPStatus.UNAUTHORIZED, _UNAUTHORIZED)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _holds_token(self, authorization: str) -> bool:
        scheme, _, token = authorization.partition(" ")
        return scheme.lower() == "bearer" and secrets.compare_digest(token.strip().encode(), self._token)


def _is_loopback(host: str) -> bool:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower() in LOOPBACK_NAMES


def body_first(receive: Receive, send: Send) -> tuple[Receive, Send]:
    """Take what is left of a request before its answer begins.

    Hypercorn hands the body over through a short queue. An answer to a request whose body fills it, and is not taken,
    would never end.
    """
    pending = True

    async def take() -> Message:
        nonlocal pending
        message = await receive()
        pending = message["type"] == "http.request" and message.get("more_body", False)
        return message

    async def answer(message: Message) -> None:
        while pending:
            await take()
        await send(message)

    return take, answer


_MISDIRECTED: Final = Problem(
    reason="wrong_host",
    message="the Host header names another host",
    advice="call the control API as http://127.0.0.1:PORT, as in the file control.url of the data directory",
)
_UNAUTHORIZED: Final = Problem(
    reason="wrong_token",
    message="the request has no valid token",
    advice="send Authorization: Bearer TOKEN, as in the file control.token of the data directory; "
    "a restarted peer has a new one",
)
