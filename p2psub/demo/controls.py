"""The control API of one peer, asked from trio."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

import httpx
import msgspec

from p2psub.api.control_files import TOKEN_FILE, URL_FILE
from p2psub.api.pages import StatusPage
from p2psub.api.problems import Problem
from p2psub.api.schemas import NDJSON, PublishRequest, PublishResponse, StreamLine, SubscribeRequest, publish_answer
from p2psub.errors import P2psubError

LOOK_S: Final = 30.0
"""How long a peer may take to say how it is: on a busy machine it is one of many."""


_lines: Final = msgspec.json.Encoder()


class PeerSilent(P2psubError):
    """A peer does not answer as it should."""


class Controls:
    """Asks one peer; an async context manager. PeerSilent where it gives no answer, or a refusal."""

    def __init__(self, name: str, data: Path) -> None:
        self._name = name
        url, token = ((data / file).read_text(encoding="utf-8").strip() for file in (URL_FILE, TOKEN_FILE))
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=LOOK_S,
            # Every publish under way, and every subscription, has a connection of its own.
            limits=httpx.Limits(max_connections=None),
            trust_env=False,
            verify=False,
        )

    async def __aenter__(self) -> Controls:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def status(self) -> StatusPage:
        """How the peer is."""
        try:
            answer = await self._http.get("/v1/status")
        except httpx.HTTPError as error:
            raise self._silent(error) from error
        return msgspec.json.decode(self._sound(answer), type=StatusPage)

    async def publish(self, request: PublishRequest) -> PublishResponse:
        """Publish one event; returns when the overlay is responsible for it."""
        try:
            answer = await self._http.post("/v1/publish", content=msgspec.json.encode(request), timeout=None)
        except httpx.HTTPError as error:
            raise self._silent(error) from error
        return msgspec.json.decode(self._sound(answer), type=PublishResponse)

    async def publish_many(self, requests: Sequence[PublishRequest]) -> list[PublishResponse | Problem]:
        """Publish many events; returns what became of each, in their order, when that is known of all."""
        content, headers = _lines.encode_lines(requests), {"Content-Type": NDJSON}
        try:
            answer = await self._http.post("/v1/publish", content=content, headers=headers, timeout=None)
        except httpx.HTTPError as error:
            raise self._silent(error) from error
        return [publish_answer(line) for line in self._sound(answer).split(b"\n") if line]

    async def listen(self, request: SubscribeRequest, hear: Callable[[StreamLine], None]) -> None:
        """Hold a subscription, and hand its lines on, until cancelled; PeerSilent if the peer ends it before."""
        content = msgspec.json.encode(request)
        try:
            async with self._http.stream("POST", "/v1/subscriptions", content=content, timeout=None) as answer:
                if answer.is_error:
                    await answer.aread()
                    self._sound(answer)
                async for line in answer.aiter_lines():
                    hear(msgspec.json.decode(line, type=StreamLine))
        except httpx.HTTPError as error:
            raise self._silent(error) from error
        raise PeerSilent(f"{self._name} ended a subscription; see its log")

    def _sound(self, answer: httpx.Response) -> bytes:
        if answer.is_error:
            raise PeerSilent(f"{self._name} answers {answer.status_code}: {answer.text}; see its log")
        return answer.content

    def _silent(self, error: httpx.HTTPError) -> PeerSilent:
        return PeerSilent(f"{self._name} does not answer ({type(error).__name__} {error}); see its log")
