"""The control API answers: what is asked for, or what is wrong and what to do next."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import msgspec
import pytest

from p2psub.api.schemas import NDJSON, REQUEST_BYTES_MAX
from p2psub.api.status import Trouble
from p2psub.model.content import Draft, Guarantee, Moment, Value
from p2psub.runtime.control.app import control_app, routes
from p2psub.runtime.control.guard import OPEN_PATHS
from p2psub.runtime.control.openapi import description
from p2psub.runtime.control.publish_endpoint import BATCH_EVENTS
from tests.unit.runtime.control.fakes import NODE, STATUS, TOKEN, UNREADY, FakePeer, node_id


@asynccontextmanager
async def client_of(peer: FakePeer, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client that holds the token, and calls the application without a socket."""
    transport = httpx.ASGITransport(app=control_app(peer, TOKEN))
    given = {"Authorization": f"Bearer {TOKEN}", **headers}
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7000", headers=given) as client:
        yield client


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The problem of an answer that must be one with this status, and give advice."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["message"]
    assert error["advice"]
    assert isinstance(error, dict)
    return error


async def test_publish_hands_the_event_over_and_answers_with_the_outcome() -> None:
    """Topic, typed attributes, body, retention and guarantee arrive as they were meant.

    Of what promises nothing, copies and matches are not known; that is not none.
    """
    peer = FakePeer()
    ask = {
        "topic": "quotes/ACME",
        "attributes": {"price": 12.5, "at": {"$date": "1970-01-01T00:00:01Z"}, "tags": {"$set": ["a", 1]}, "hot": True},
        "body": "grüß",
        "retain_s": 2,
        "guarantee": "at_most_once",
    }
    async with client_of(peer) as client:
        answer = await client.post("/v1/publish", json=ask)
        promised = await client.post("/v1/publish", json={"topic": "t"})
    assert answer.json() == {"event": f"{NODE.id.hex()}.5.1", "copies": None, "matched": None}
    assert promised.json() == {"event": f"{NODE.id.hex()}.5.2", "copies": 3, "matched": 0}
    attributes: dict[str, Value] = {"price": 12.5, "at": Moment(1_000_000), "tags": frozenset(["a", 1]), "hot": True}
    assert peer.published[0] == Draft("quotes/ACME", attributes, "grüß".encode(), 2.0, Guarantee.AT_MOST_ONCE)


async def test_publish_takes_a_body_of_bytes() -> None:
    """Bytes that are no text come as base64."""
    peer = FakePeer()
    async with client_of(peer) as client:
        await client.post("/v1/publish", json={"topic": "t", "body_base64": "/wA="})
    assert peer.published == [Draft("t", {}, b"\xff\x00")]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "JSON"),
        ("{", "JSON"),
        ("[]", "object"),
        ("{}", "topic"),
        ('{"topic": 1}', "topic"),
        ('{"topic": ""}', "topic"),
        ('{"topic": "t", "topics": 1}', "topics"),
        ('{"topic": "t", "attributes": {"price": null}}', "price"),
        ('{"topic": "t", "attributes": {"price": {"a": 1}}}', "price"),
        ('{"topic": "t", "attributes": {"price": 36893488147419103232}}', "price"),
        ('{"topic": "t", "body": "a", "body_base64": "YQ=="}', "bodies"),
        ('{"topic": "t", "body_base64": "?"}', "base64"),
        ('{"topic": "t", "retain_s": -1}', "retain_s"),
        ('{"topic": "t", "guarantee": "twice"}', "guarantee"),
    ],
)
async def test_bad_publishes_are_told_what_is_wrong(text: str, word: str) -> None:
    """400, the message names the fault, and nothing is published."""
    peer = FakePeer()
    async with client_of(peer) as client:
        error = problem(await client.post("/v1/publish", content=text), 400)
    assert error["reason"] == "bad_content"
    assert word in error["message"]
    assert not peer.published


async def test_publish_without_right_is_forbidden() -> None:
    """403, with what to ask for, whether the peer or the overlay refuses."""
    async with client_of(FakePeer()) as client:
        for topic in ("secret/1", "withheld/1"):
            error = problem(await client.post("/v1/publish", json={"topic": topic}), 403)
            assert error["reason"] == "not_authorized"


async def test_publish_that_is_not_taken_is_for_later() -> None:
    """503, with what to wait for: it is nobody's fault."""
    async with client_of(FakePeer()) as client:
        error = problem(await client.post("/v1/publish", json={"topic": "crowded/1"}), 503)
    assert error["reason"] == "not_taken"
    assert "wait until earlier events are acknowledged" in error["advice"]


async def test_too_large_requests_are_refused() -> None:
    """413, for more bytes than a request may have and for an event that no frame would carry."""
    async with client_of(FakePeer()) as client:
        problem(await client.post("/v1/publish", content=b" " * (REQUEST_BYTES_MAX + 1)), 413)
        problem(await client.post("/v1/publish", json={"topic": "t", "body": "a" * 300_000}), 413)


async def test_many_publishes_are_answered_by_a_line_each_in_order() -> None:
    """Lines at fault are answered by their problem and stop no other line."""
    peer = FakePeer()
    topics = ("a", "secret", "withheld", "b")
    lines = [json.dumps({"topic": topic}) for topic in topics]
    lines[1:1] = ["nonsense", ""]
    async with client_of(peer) as client:
        answer = await client.post("/v1/publish", content="\n".join(lines), headers={"Content-Type": NDJSON})
    said = [json.loads(line) for line in answer.text.splitlines()]
    assert answer.headers["content-type"] == NDJSON
    assert [line.get("event", line.get("error", {}).get("reason")) for line in said] == [
        f"{NODE.id.hex()}.5.1",
        "bad_content",
        "not_authorized",
        "not_authorized",
        f"{NODE.id.hex()}.5.2",
    ]
    assert [draft.topic for draft in peer.published] == ["a", "b"]


async def test_many_publishes_go_in_batches() -> None:
    """Lines are handed to the peer together, not one by one."""
    peer = FakePeer()
    content = b'{"topic": "a"}\n' * (BATCH_EVENTS + 3)
    async with client_of(peer) as client:
        answer = await client.post("/v1/publish", content=content, headers={"Content-Type": NDJSON})
    assert peer.batches == [BATCH_EVENTS, 3]
    assert len(answer.text.splitlines()) == BATCH_EVENTS + 3


async def test_a_filter_at_fault_is_shown_with_its_place() -> None:
    """400 with the position, and a caret below the text."""
    async with client_of(FakePeer()) as client:
        error = problem(await client.post("/v1/subscriptions", json={"filter": "price >"}), 400)
    assert error["reason"] == "filter_error"
    assert error["position"] == len("price >")
    assert error["caret"] == "price >\n       ^"


async def test_subscriptions_need_right_and_sense() -> None:
    """403 without right, 400 for a window that is none or a parameter that is no value."""
    async with client_of(FakePeer()) as client:
        problem(await client.post("/v1/subscriptions", json={"filter": "topic = 'secret'"}), 403)
        problem(await client.post("/v1/subscriptions", json={"filter": "a = 1", "window": 0}), 400)
        problem(await client.post("/v1/subscriptions", json={"filter": "a = :b", "params": {"b": []}}), 400)


async def test_a_peer_that_has_not_joined_says_what_is_missing() -> None:
    """503 for publish, subscribe and /readyz; alive all the same. Once it has joined, the overlay decides."""
    peer = FakePeer(UNREADY)
    async with client_of(peer) as client:
        for answer in (
            await client.post("/v1/publish", json={"topic": "t"}),
            await client.post("/v1/subscriptions", json={"filter": "a = 1"}),
            await client.get("/readyz"),
        ):
            assert "an answer of bootstrap" in problem(answer, 503)["message"]
        assert (await client.get("/healthz")).json() == {"alive": True}
        peer.said = FakePeer().said
        assert (await client.get("/readyz")).json() == {"ready": True, "troubles": {}}
        assert (await client.post("/v1/publish", json={"topic": "t"})).status_code == 200
        peer.said = UNREADY
        assert (await client.post("/v1/publish", json={"topic": "t"})).status_code == 200
        assert (await client.get("/readyz")).status_code == 503


async def test_troubles_are_told_whether_the_peer_is_ready_or_not() -> None:
    """In the status, by /readyz, and as metrics."""
    troubles = {Trouble.TRACE: "the trace cannot be written: no space; free some"}
    peer = FakePeer(msgspec.structs.replace(STATUS, troubles=troubles))
    async with client_of(peer) as client:
        assert (await client.get("/readyz")).json() == {"ready": True, "troubles": troubles}
        assert (await client.get("/v1/status")).json()["troubles"] == troubles
        text = (await client.get("/metrics")).text
        assert 'p2psub_trouble{part="trace"} 1.0' in text
        assert 'p2psub_trouble{part="store"} 0.0' in text
        peer.said = msgspec.structs.replace(UNREADY, troubles=troubles)
        message = problem(await client.get("/readyz"), 503)["message"]
        assert "an answer of bootstrap; the trace cannot be written" in message


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ü"])
async def test_without_the_token_nothing_is_told(header: str) -> None:
    """401 for every path but the probes and the description."""
    async with client_of(FakePeer()) as client:
        for route in routes(FakePeer()):
            method = "POST" if "POST" in (route.methods or ()) else "GET"
            raw = {b"Authorization": header.encode()}
            answer = await client.request(method, route.path, headers=raw, content=b"")
            if route.path in OPEN_PATHS:
                assert answer.status_code == 200
            else:
                assert problem(answer, 401)["reason"] == "wrong_token"
                assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:7000", "evil.example:127", "", "10.0.0.1"])
async def test_another_host_is_refused(host: str) -> None:
    """A page whose name was pointed to 127.0.0.1 gets nothing, though it had the token."""
    async with client_of(FakePeer(), Host=host) as client:
        assert problem(await client.get("/healthz"), 421)["reason"] == "wrong_host"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:7000", "[::1]"])
async def test_loopback_hosts_are_welcome(host: str) -> None:
    """By any of its names and with any port."""
    async with client_of(FakePeer(), Host=host) as client:
        assert (await client.get("/v1/status")).status_code == 200


async def test_unknown_paths_and_methods_are_problems_too() -> None:
    """404 and 405 point to the description."""
    async with client_of(FakePeer()) as client:
        assert "openapi" in problem(await client.get("/v1/nothing"), 404)["advice"]
        assert "openapi" in problem(await client.get("/v1/publish"), 405)["advice"]


async def test_status_tells_everything_in_plain_json() -> None:
    """Ids are hex, the rest are words and numbers."""
    async with client_of(FakePeer()) as client:
        status = (await client.get("/v1/status")).json()
    assert status["name"] == "ann"
    assert status["ring"]["super_node"] == {"id": node_id("queen").hex(), "address": "queen.test:7400"}
    assert status["ring"]["epoch"] == f"3.{node_id('queen').hex()}.2"
    assert status["ring"]["table"] == f"3.{node_id('queen').hex()}.2/7"
    assert status["cube"]["clusters"] == [{"cluster": "blue", "prefix": "0"}, {"cluster": "red", "prefix": "1"}]
    assert status["queues"]["kept"] == 1
    assert status["queues"]["links"][0]["bytes_out"] == 20
    assert status["subscriptions"] == [f"{NODE.id.hex()}.5.99"]
    assert status["counters"] == {"duplicates_total": 2, "frames_in": 3}
    assert status["recorded"] == {"drop above_rate": 5, "publish": 7}


@pytest.mark.parametrize(
    ("path", "field", "words"),
    [
        ("/ringz", "successors", ["successor 1", "queen.test:7400", "candidate 2", "blue"]),
        ("/cubez", "clusters", ["blue", "0", "ours", "red"]),
        ("/queuez", "links", ["undischarged", "bob.test:7400", "down"]),
        ("/adsz", "known", ["ours", "2.5", "topic = 'a'", "topic = 'b'", "7.0"]),
        ("/subsz", "active", ["subscription", f"{NODE.id.hex()}.5.99"]),
    ],
)
async def test_pages_are_json_or_text(path: str, field: str, words: list[str]) -> None:
    """As the client would rather have it."""
    async with client_of(FakePeer()) as client:
        assert field in (await client.get(path)).json()
        answer = await client.get(path, headers={"Accept": "text/plain"})
    assert answer.headers["content-type"].startswith("text/plain")
    assert not [word for word in words if word not in answer.text]


async def test_metrics_are_what_prometheus_reads() -> None:
    """Counters end in _total, gauges tell links, queues, outbox, debts and role."""
    async with client_of(FakePeer()) as client:
        text = (await client.get("/metrics")).text
    lines = text.splitlines()
    for line in (
        "p2psub_frames_in_total 3.0",
        "p2psub_duplicates_total 2.0",
        'p2psub_recorded_total{kind="drop",reason="above_rate"} 5.0',
        'p2psub_recorded_total{kind="publish",reason=""} 7.0',
        "p2psub_links 1.0",
        "p2psub_queued_messages 8.0",
        "p2psub_outbox 4.0",
        "p2psub_undischarged 6.0",
        "p2psub_on_time_total 5.0",
        "p2psub_earned_total 5.5",
        "p2psub_penalties_total 0.15",
        'p2psub_expired_total{reason="channel_full"} 2.0',
        'p2psub_expired_total{reason="deadline"} 2.0',
        'p2psub_role{role="candidate"} 1.0',
        'p2psub_role{role="member"} 0.0',
    ):
        assert line in lines


async def test_books_are_decimals_at_the_edge() -> None:
    """The status has those of the peer, whatever the guarantee; /subsz those of each subscription."""
    async with client_of(FakePeer()) as client:
        status = (await client.get("/v1/status")).json()
        subscriptions = (await client.get("/subsz")).json()
    expired = {"channel_full": 2, "deadline": 2}
    assert status["books"] == {"on_time": 5, "expired": expired, "earned": 5.5, "penalties": 0.15, "earning": 5.35}
    (one,) = subscriptions["books"]
    assert (one["guarantee"], one["books"]["earned"], one["books"]["earning"]) == ("effectively_once", 4.5, 4.35)


async def test_every_route_is_described_and_every_description_has_a_route() -> None:
    """The description and the application name the same paths and methods."""
    served = {(r.path, m.lower()) for r in routes(FakePeer()) for m in (r.methods or ()) if m != "HEAD"}
    async with client_of(FakePeer()) as client:
        said = (await client.get("/openapi.json")).json()
    assert said["openapi"] == "3.1.0"
    assert served == {(path, method) for path, operations in said["paths"].items() for method in operations}
    open_paths = {
        path for path, operations in said["paths"].items() for one in operations.values() if "security" in one
    }
    assert open_paths == OPEN_PATHS


def test_the_description_refers_to_nothing_that_is_missing() -> None:
    """Every $ref leads somewhere."""
    text = json.dumps(description())
    for ref in {part.split('"')[0] for part in text.split('"$ref": "#/')[1:]}:
        place = description()
        for step in ref.split("/"):
            place = place[step]


@pytest.mark.parametrize(
    ("ask", "status", "word"),
    [
        ({"filter": "", "rate": 0}, 400, "rate"),
        ({"filter": "", "rate": -1.5}, 400, "rate"),
        ({"filter": "topic = 'a'"}, 400, "rate"),
        ({"filter": "topic = 'secret'", "rate": 1}, 403, "no right"),
    ],
)
async def test_advertisements_need_a_rate_and_the_right(ask: dict[str, object], status: int, word: str) -> None:
    """The peer hears of none of these."""
    peer = FakePeer()
    async with client_of(peer) as client:
        assert word in problem(await client.post("/v1/advertisements", json=ask), status)["message"]
    assert not peer.advertisements
