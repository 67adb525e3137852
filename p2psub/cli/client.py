"""The control API from outside: asking a peer. Blocking; used by commands and console."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from p2psub.api.errors import BadContent, Refusal
from p2psub.api.pages import (
    AdvertisementsPage,
    CubePage,
    QueuesPage,
    RingPage,
    StatusPage,
    SubscriptionsPage,
)
from p2psub.api.problems import Problem, ProblemResponse
from p2psub.api.schemas import (
    NDJSON,
    AdvertiseRequest,
    PublishRequest,
    PublishResponse,
    StreamLine,
    SubscribeRequest,
    publish_answer,
)
from p2psub.cli.endpoint import BadUsage, Endpoint, NoPeer

if TYPE_CHECKING:
    import httpx

LOOK_S: Final = 10.0
"""How long a peer may take to say how it is. A publish may take as long as the overlay needs."""

CONNECT_S: Final = 5.0

Page = TypeVar("Page", StatusPage, RingPage, CubePage, QueuesPage, SubscriptionsPage, AdvertisementsPage)


class PeerRefused(Refusal):
    """The peer said no, and why."""

    def __init__(self, status: int, problem: Problem) -> None:
        super().__init__(problem.message, problem.advice)
        self.problem = problem
        self.is_input = status in {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}
        """Whether it is about what we sent."""


class ControlClient:
    """Asks one peer. May be used from several threads."""

    def __init__(self, where: Endpoint) -> None:
        import httpx  # noqa: PLC0415, it takes long to import, and most commands need no peer

        self._where = where
        # A proxy has no business on loopback; and there is no TLS, so that no certificates need be loaded.
        with self._reaching():
            self._http = httpx.Client(
                base_url=where.url,
                headers={"Authorization": f"Bearer {where.token}"},
                timeout=httpx.Timeout(LOOK_S, connect=CONNECT_S),
                limits=httpx.Limits(max_connections=None),
                trust_env=False,
                verify=False,
            )

    def __enter__(self) -> ControlClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections up."""
        self._http.close()

    def status(self) -> StatusPage:
        return self._look("/v1/status", StatusPage)

    def ring(self) -> RingPage:
        return self._look("/ringz", RingPage)

    def cube(self) -> CubePage:
        return self._look("/cubez", CubePage)

    def queues(self) -> QueuesPage:
        return self._look("/queuez", QueuesPage)

    def subscriptions(self) -> SubscriptionsPage:
        return self._look("/subsz", SubscriptionsPage)

    def advertisements(self) -> AdvertisementsPage:
        return self._look("/adsz", AdvertisementsPage)

    def publish(self, request: PublishRequest) -> PublishResponse:
        """Publish one event; returns when the overlay is responsible for it."""
        content = _encoded(request)
        with self._reaching():
            answer = self._http.post("/v1/publish", content=content, timeout=None)
        return msgspec.json.decode(_sound(answer), type=PublishResponse)

    def publish_lines(self, lines: Iterable[bytes]) -> Iterator[PublishResponse | Problem]:
        """Publish lines of JSON; yields what became of each, in their order."""
        content, headers = b"\n".join(lines), {"Content-Type": NDJSON}
        with (
            self._reaching(),
            self._http.stream("POST", "/v1/publish", content=content, headers=headers, timeout=None) as answer,
        ):
            if answer.is_error:
                answer.read()
                _sound(answer)
            for line in split_lines(answer.iter_bytes()):
                yield publish_answer(line)

    @contextmanager
    def hold(self, request: SubscribeRequest | AdvertiseRequest) -> Iterator[LineStream]:
        """Hold a subscription, or an advertisement, while the block runs."""
        path = "/v1/subscriptions" if isinstance(request, SubscribeRequest) else "/v1/advertisements"
        content = _encoded(request)
        with self._reaching(), self._http.stream("POST", path, content=content, timeout=None) as answer:
            if answer.is_error:
                answer.read()
                _sound(answer)
            yield LineStream(answer)

    def _look(self, path: str, kind: type[Page]) -> Page:
        with self._reaching():
            answer = self._http.get(path)
        try:
            return msgspec.json.decode(_sound(answer), type=kind)
        except msgspec.DecodeError as error:
            raise NoPeer(f"what answers at {self._where.url} is not a p2psub peer", self._where.remedy) from error

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Turn what goes wrong between us and the peer into advice."""
        import httpx  # noqa: PLC0415

        try:
            yield
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise BadUsage(f"{self._where.url} is not the URL of a peer", "give it as http://127.0.0.1:PORT") from error
        except UnicodeEncodeError as error:
            advice = "copy it from control.token in the peer's data directory"
            raise BadUsage("the token of the control API has characters that no token has", advice) from error
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NoPeer(self._where.absence, self._where.remedy) from error
        except httpx.TimeoutException as error:
            raise NoPeer("the peer does not answer", f"see its log; {self._where.remedy}") from error
        except httpx.HTTPError as error:
            raise NoPeer("the peer has gone away", self._where.remedy) from error


class LineStream:
    """A subscription that is being read, or an advertisement."""

    def __init__(self, answer: httpx.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[StreamLine]:
        for line in split_lines(self._answer.iter_bytes()):
            yield msgspec.json.decode(line, type=StreamLine)

    def end(self) -> None:
        """Hang up, from any thread: a caller that waits for a line gets NoPeer."""
        connection = self._answer.extensions["network_stream"].get_extra_info("socket")
        assert isinstance(connection, socket.socket)
        with suppress(OSError):  # It may be gone already.
            connection.shutdown(socket.SHUT_RDWR)


def _encoded(request: PublishRequest | SubscribeRequest | AdvertiseRequest) -> bytes:
    """A request as it is sent; BadContent if a text in it cannot be."""
    try:
        return msgspec.json.encode(request)
    except UnicodeEncodeError as error:
        raise BadContent("the request contains an unpaired surrogate", "give text that has a form in UTF-8") from error


def _sound(answer: httpx.Response) -> bytes:
    """The content of an answer; PeerRefused if it is a problem."""
    if not answer.is_error:
        return answer.content
    try:
        problem = msgspec.json.decode(answer.content, type=ProblemResponse).error
    except msgspec.DecodeError:
        advice = "see whether another program has taken the peer's port"
        problem = Problem(reason="unknown", message=f"the answer is {answer.status_code}", advice=advice)
    raise PeerRefused(answer.status_code, problem)


def split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines out of pieces, at line feeds alone: a text inside JSON may hold other things that look like one."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    if rest.strip():
        yield rest
