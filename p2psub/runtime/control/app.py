"""The control API as an ASGI application: paths, and who answers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from p2psub.api.pages import (
    ReadyPage,
    StreamPage,
    advertisements_page,
    cube_page,
    queues_page,
    ring_page,
    status_page,
    subscriptions_page,
)
from p2psub.api.tables import advertisements_text, cube_text, queues_text, ring_text, subscriptions_text
from p2psub.api.values import id_to_text
from p2psub.runtime.control.advertise_endpoint import AdvertiseEndpoint
from p2psub.runtime.control.guard import Guard
from p2psub.runtime.control.metrics import PeerMetrics
from p2psub.runtime.control.openapi import description
from p2psub.runtime.control.peer_protocol import PeerProtocol
from p2psub.runtime.control.publish_endpoint import PublishEndpoint
from p2psub.runtime.control.requests import Gate
from p2psub.runtime.control.responses import ANSWERS, JsonResponse
from p2psub.runtime.control.subscribe_endpoint import OpenStream, OpenStreams, SubscribeEndpoint

Page = TypeVar("Page")


def control_app(peer: PeerProtocol, token: str) -> ASGIApp:
    """The whole API for one peer, behind its guard."""
    return Guard(Starlette(routes=routes(peer), exception_handlers=ANSWERS), token)


def routes(peer: PeerProtocol) -> list[Route]:
    """Every path; `openapi.py` describes them."""
    gate, streams = Gate(peer), OpenStreams()
    pages = StatusPages(peer, gate, streams)
    return [
        Route("/v1/publish", PublishEndpoint(peer, gate).publish, methods=["POST"]),
        Route("/v1/subscriptions", SubscribeEndpoint(peer, gate, streams).subscribe, methods=["POST"]),
        Route("/v1/advertisements", AdvertiseEndpoint(peer, gate).advertise, methods=["POST"]),
        Route("/v1/status", pages.status),
        Route("/healthz", pages.health),
        Route("/readyz", pages.ready),
        Route("/metrics", pages.metrics),
        Route("/ringz", pages.ring),
        Route("/cubez", pages.cube),
        Route("/queuez", pages.queues),
        Route("/subsz", pages.subscriptions),
        Route("/adsz", pages.advertisements),
        Route("/openapi.json", pages.openapi),
    ]


class StatusPages:
    """What only looks."""

    def __init__(self, peer: PeerProtocol, gate: Gate, streams: OpenStreams) -> None:
        self._peer = peer
        self._gate = gate
        self._streams = streams
        self._metrics = PeerMetrics(peer.status)

    async def status(self, _: Request) -> Response:
        return JsonResponse(status_page(self._peer.status()))

    async def health(self, _: Request) -> Response:
        """The process runs and answers; more is not said."""
        return JsonResponse({"alive": True})

    async def ready(self, _: Request) -> Response:
        self._gate.pass_ready()
        return JsonResponse(ReadyPage(troubles=self._peer.status().troubles))

    async def metrics(self, request: Request) -> Response:
        text, content_type = self._metrics.answer(request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": content_type})

    async def ring(self, request: Request) -> Response:
        return _shown(request, ring_page(self._peer.status().node), ring_text)

    async def cube(self, request: Request) -> Response:
        return _shown(request, cube_page(self._peer.status().node), cube_text)

    async def queues(self, request: Request) -> Response:
        return _shown(request, queues_page(self._peer.status()), queues_text)

    async def subscriptions(self, request: Request) -> Response:
        page = subscriptions_page(self._peer.status().node, map(_stream_page, self._streams))
        return _shown(request, page, subscriptions_text)

    async def advertisements(self, request: Request) -> Response:
        return _shown(request, advertisements_page(self._peer.status().node), advertisements_text)

    async def openapi(self, _: Request) -> Response:
        return JsonResponse(description())


def _stream_page(stream: OpenStream) -> StreamPage:
    return StreamPage(
        subscription=id_to_text(stream.verdict.subscription),
        filter=stream.filter,
        status=stream.verdict.status,
        events=stream.events,
        missed=stream.missed,
    )


def _shown(request: Request, page: Page, text: Callable[[Page], str]) -> Response:
    """A page as a table for clients that ask for text, else as JSON."""
    if request.headers.get("accept", "").startswith("text/plain"):
        return PlainTextResponse(text(page))
    return JsonResponse(page)
