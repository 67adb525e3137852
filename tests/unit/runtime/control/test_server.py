"""The control API over real sockets: streams, clients that leave, clients that do not read, and the end."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import h11
import httpx
import pytest
import trio
import trio.testing

from p2psub.api.errors import NotReady
from p2psub.api.items import Gap, Notification
from p2psub.api.schemas import NDJSON, REQUEST_BYTES_MAX
from p2psub.errors import ConfigError
from p2psub.model.bids import Bid
from p2psub.model.content import Event
from p2psub.model.ids import EventId
from p2psub.model.outcomes import SubscribeVerdict, VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.runtime.control.server import CONNECTIONS_MAX, http_config, serve_control
from tests.unit.runtime.control.fakes import NODE, FakePeer, FakeSubscription


@asynccontextmanager
async def serving(peer: FakePeer, data: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A server for the peer, and a client that found it by the data directory."""
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(serve_control, peer, data))
        url, token = ((data / name).read_text().strip() for name in ("control.url", "control.token"))
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=None, trust_env=False) as client:
            yield client
        nursery.cancel_scope.cancel()


class Lines:
    """The lines of a subscription's answer, taken only when they are asked for."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT)
        self._text = b""

    async def ask(self, client: httpx.AsyncClient, ask: dict[str, Any]) -> None:
        """Send the request, and see that it is answered by a stream."""
        body = json.dumps(ask).encode()
        headers = {"Host": "127.0.0.1", "Content-Length": str(len(body))}
        headers["Authorization"] = client.headers["Authorization"]
        request = h11.Request(method="POST", target="/v1/subscriptions", headers=list(headers.items()))
        for part in (request, h11.Data(body), h11.EndOfMessage()):
            await self._stream.send_all(self._http.send(part) or b"")
        answer = await self._next_event()
        assert isinstance(answer, h11.Response)
        assert answer.status_code == 200
        assert (b"content-type", NDJSON.encode()) in list(answer.headers)

    async def next(self) -> Any:
        """The next line; None at the proper end."""
        while b"\n" not in self._text:
            event = await self._next_event()
            if isinstance(event, h11.EndOfMessage):
                return None
            assert isinstance(event, h11.Data)
            self._text += event.data
        line, _, self._text = self._text.partition(b"\n")
        return json.loads(line)

    async def _next_event(self) -> h11.Event:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._stream.receive_some())
        assert isinstance(event, h11.Event)
        return event


@asynccontextmanager
async def subscribed(client: httpx.AsyncClient, **ask: Any) -> AsyncIterator[Lines]:
    """A subscription; its connection is closed when the block ends."""
    assert client.base_url.port
    async with await trio.open_tcp_stream(client.base_url.host, client.base_url.port) as stream:
        lines = Lines(stream)
        await lines.ask(client, {"filter": "topic = 'quotes'", **ask})
        yield lines


async def test_bids_and_timeouts_are_spans_and_decimals(tmp_path: Path) -> None:
    """In requests; a notification tells its age and what is left. A bid that no peer takes is a bad request."""
    peer, bid = FakePeer(), {"deadline": "40s", "price": 1.5, "penalty": 0.15}
    async with serving(peer, tmp_path) as client, subscribed(client, **bid) as lines:
        await lines.next()
        assert peer.subscriptions[0].bid == Bid(40_000_000, 1_500_000, 150_000)
        await client.post("/v1/publish", json={"topic": "quotes", "timeout": "2m"})
        event = (await lines.next())["event"]
        assert (event["age_s"], event["remaining_s"]) == (0.0, 120.0)
        for path, ask in (
            ("publish", {"topic": "t", "timeout": 0}),
            ("subscriptions", {"filter": "", "deadline": "1d"}),
        ):
            assert (await client.post(f"/v1/{path}", json=ask)).status_code == HTTPStatus.BAD_REQUEST


async def test_a_stream_tells_verdicts_events_and_gaps(tmp_path: Path) -> None:
    """First the verdict, then what comes, each as soon as it comes."""
    peer = FakePeer()
    async with serving(peer, tmp_path) as client, subscribed(client, params={"p": 1.5}, replay=True) as lines:
        first = await lines.next()
        [subscription] = peer.subscriptions
        verdict = {"subscription": f"{NODE.id.hex()}.5.1", "status": "accepted", "unreached": ["red"]}
        assert first == {"verdict": {**verdict, "reason": None, "demand": None}}
        assert (subscription.params, subscription.replay) == ({"p": 1.5}, True)
        ask = {"topic": "quotes", "attributes": {"price": 2.0}, "body_base64": "/w=="}
        assert (await client.post("/v1/publish", json=ask)).json()["matched"] == 1
        assert await lines.next() == {
            "event": {
                "id": f"{NODE.id.hex()}.5.1",
                "topic": "quotes",
                "attributes": {"price": 2.0},
                "body_base64": "/w==",
                "retain_s": 0.0,
                "guarantee": "effectively_once",
                "age_s": 0.0,
            }
        }
        subscription.put(Gap(7, Reason.SPOOL_FULL))
        assert await lines.next() == {"gap": {"count": 7, "reason": "spool_full"}}
        subscription.put(SubscribeVerdict(subscription.id, VerdictStatus.STABLE))
        assert (await lines.next())["verdict"]["status"] == "stable"
        page = (await client.get("/subsz")).json()
        assert page["streams"] == [
            {
                "subscription": f"{NODE.id.hex()}.5.1",
                "filter": "topic = 'quotes'",
                "status": "stable",
                "events": 1,
                "missed": 7,
            }
        ]


async def test_closing_the_connection_ends_the_subscription(tmp_path: Path) -> None:
    """Also when nothing was to be written; and the server goes on."""
    peer = FakePeer()
    async with serving(peer, tmp_path) as client:
        async with subscribed(client) as lines:
            await lines.next()
            assert not peer.subscriptions[0].ended.is_set()
        await peer.subscriptions[0].ended.wait()
        assert (await client.get("/subsz")).json()["streams"] == []


async def test_a_refusal_in_the_middle_ends_the_stream_with_its_reason(tmp_path: Path) -> None:
    """The last line says what happened and what to do next."""
    peer = FakePeer()
    async with serving(peer, tmp_path) as client, subscribed(client) as lines:
        await lines.next()
        peer.subscriptions[0].put(NotReady("the peer is leaving", "start it again"))
        assert await lines.next() == {
            "error": {"reason": "not_ready", "message": "the peer is leaving", "advice": "start it again"}
        }
        assert await lines.next() is None


async def test_a_later_refusal_is_the_last_line(tmp_path: Path) -> None:
    """Nothing comes after a verdict that says no."""
    peer = FakePeer()
    async with serving(peer, tmp_path) as client, subscribed(client) as lines:
        await lines.next()
        refused = SubscribeVerdict(peer.subscriptions[0].id, VerdictStatus.REFUSED, (), Reason.VOTED_DOWN)
        peer.subscriptions[0].put(refused)
        said = (await lines.next())["verdict"]
        assert (said["status"], said["reason"]) == ("refused", "voted_down")
        assert await lines.next() is None


async def stall(subscription: FakeSubscription) -> None:
    """Put more in than the buffers of a socket take, and return when nothing moves any more."""
    for sequence in range(2_000):
        subscription.put(Notification(Event(EventId(NODE.id, 1, sequence), "quotes", {}, b"x" * 100_000)))
    await trio.testing.wait_all_tasks_blocked()
    assert subscription.waiting


async def test_a_client_that_does_not_read_stalls_nobody_else(tmp_path: Path) -> None:
    """Its items wait; another stream and a publish do not."""
    peer = FakePeer()
    async with serving(peer, tmp_path) as client, subscribed(client) as lines:
        await lines.next()
        await stall(peer.subscriptions[0])
        async with subscribed(client, filter="topic = 'news'") as news:
            await news.next()
            assert (await client.post("/v1/publish", json={"topic": "news"})).json()["matched"] == 1
            assert (await news.next())["event"]["topic"] == "news"
        assert not peer.subscriptions[0].ended.is_set()


async def test_a_client_that_does_not_read_cannot_keep_the_server_from_ending(tmp_path: Path) -> None:
    """A write that nobody takes is given up when the server is cancelled."""
    peer = FakePeer()
    async with AsyncExitStack() as later:
        async with serving(peer, tmp_path) as client:
            lines = await later.enter_async_context(subscribed(client))
            await lines.next()
            await stall(peer.subscriptions[0])
        assert peer.subscriptions[0].ended.is_set()


async def test_a_client_that_leaves_without_having_read_is_noticed(tmp_path: Path) -> None:
    """The write that waits is given up, and the subscription ends."""
    peer = FakePeer()
    async with serving(peer, tmp_path) as client:
        async with subscribed(client) as lines:
            await lines.next()
            await stall(peer.subscriptions[0])
        await peer.subscriptions[0].ended.wait()


async def test_a_publish_that_nobody_waits_for_is_left(tmp_path: Path) -> None:
    """A client that goes away does not leave its request behind."""
    peer = FakePeer()
    peer.hold_publishing = trio.Event()
    async with serving(peer, tmp_path) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(client.post, "/v1/publish", json={"topic": "t"}))
            await peer.publishing_begun.wait()
            nursery.cancel_scope.cancel()
        await peer.publishing_left.wait()
    assert not peer.published


@pytest.mark.parametrize("token", ["wrong", None])
async def test_a_large_body_is_answered_even_when_it_is_not_wanted(tmp_path: Path, token: str | None) -> None:
    """A refusal reaches a client that sends more than any queue holds."""
    async with serving(FakePeer(), tmp_path) as client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        content = b" " * (4 * REQUEST_BYTES_MAX)
        answer = await client.post("/v1/publish", content=content, headers=headers)
        assert answer.status_code == (401 if token else 413)


async def test_the_data_directory_tells_where_and_with_what(tmp_path: Path) -> None:
    """URL and token are for the owner alone, are made anew at each start, and are gone at the end."""
    data = tmp_path / "new" / "data"
    tokens = []
    for _ in range(2):
        async with serving(FakePeer(), data):
            for name in ("control.url", "control.token"):
                assert stat.S_IMODE((data / name).stat().st_mode) == 0o600
            tokens.append((data / "control.token").read_text())
        assert list(data.iterdir()) == []
    assert tokens[0] != tokens[1]


async def test_a_taken_port_is_a_matter_of_configuration(tmp_path: Path) -> None:
    """The error names the field and says what to do."""
    async with serving(FakePeer(), tmp_path) as client:
        port = client.base_url.port
        assert port
        with pytest.raises(ConfigError, match=r"control\.port: .*another"):
            await serve_control(FakePeer(), tmp_path / "other", port)


async def test_there_is_a_limit_on_connections(tmp_path: Path) -> None:
    """One more than the limit is closed at once, and the others go on."""
    async with serving(FakePeer(), tmp_path) as client:
        host, port = client.base_url.host, client.base_url.port
        assert port
        streams = [await trio.open_tcp_stream(host, port) for _ in range(CONNECTIONS_MAX)]
        one_more = await trio.open_tcp_stream(host, port)
        assert await one_more.receive_some() == b""
        for stream in [one_more, *streams]:
            await stream.aclose()


async def test_what_no_client_of_ours_says_ends_its_connection_alone(tmp_path: Path) -> None:
    """Bytes that are no HTTP are refused, and the server goes on."""
    async with serving(FakePeer(), tmp_path) as client:
        port = client.base_url.port
        assert port
        stream = await trio.open_tcp_stream(client.base_url.host, port)
        await stream.send_all(b"\x16\x03\x01 no HTTP at all\r\n\r\n")
        assert b"400" in await stream.receive_some()
        await stream.aclose()
        assert (await client.get("/healthz")).json() == {"alive": True}


def test_it_is_the_client_who_gives_up_an_idle_connection() -> None:
    """If both would after the same time, a request could meet the end of the connection that it was sent on."""
    client_s = httpx.Limits().keepalive_expiry
    assert client_s is not None
    assert client_s < http_config().keep_alive_timeout
