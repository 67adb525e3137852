"""The client of the control API: finding a peer, and what it says when there is none."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from p2psub.api.errors import NotReady
from p2psub.api.problems import Problem
from p2psub.api.schemas import PublishRequest, PublishResponse, SubscribeRequest
from p2psub.cli.client import ControlClient, PeerRefused, split_lines
from p2psub.cli.endpoint import BadUsage, Endpoint, NoPeer, find_peer
from tests.unit.runtime.control.fakes import NODE
from tests.unit.runtime.control.served import Served


def test_a_peer_is_found_by_its_data_directory(peer: Served) -> None:
    """By option, or by P2PSUB_DATA."""
    with ControlClient(find_peer(peer.data)) as client:
        assert client.status().name == "ann"
    with ControlClient(find_peer(None, {"P2PSUB_DATA": str(peer.data)})) as client:
        assert client.ring().id == NODE.id.hex()


def test_a_peer_is_found_by_url_and_token(peer: Served) -> None:
    """P2PSUB_CONTROL and P2PSUB_CONTROL_TOKEN go before P2PSUB_DATA, and behind the option."""
    found = find_peer(peer.data)
    environ = {"P2PSUB_CONTROL": found.url, "P2PSUB_CONTROL_TOKEN": found.token, "P2PSUB_DATA": "/nowhere"}
    with ControlClient(find_peer(None, environ)) as client:
        assert client.cube().cluster == "blue"
    with pytest.raises(NoPeer):
        find_peer(Path("/nowhere"), environ)


def test_proxies_are_not_asked(peer: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is loopback, whatever the environment says of proxies."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with ControlClient(find_peer(peer.data)) as client:
        assert client.queues().outbox == 4


def test_without_a_name_there_is_advice() -> None:
    """Nothing named, or half of it, is bad usage."""
    with pytest.raises(BadUsage, match="--data"):
        find_peer(None, {})
    with pytest.raises(BadUsage, match="P2PSUB_CONTROL_TOKEN"):
        find_peer(None, {"P2PSUB_CONTROL": "http://127.0.0.1:1"})


def test_a_data_directory_without_peer_says_how_to_start_one(tmp_path: Path) -> None:
    """Also if the peer was killed and left its files."""
    with pytest.raises(NoPeer, match=f"p2psub peer --data {tmp_path}"):
        find_peer(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # Nobody listens there.
        (tmp_path / "control.url").write_text(f"http://127.0.0.1:{taken.getsockname()[1]}")
        (tmp_path / "control.token").write_text("t")
        with ControlClient(find_peer(tmp_path)) as client, pytest.raises(NoPeer, match=f"--data {tmp_path}"):
            client.status()


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1:1", "http://127.0.0.1:notaport"])
def test_what_is_no_url_is_bad_usage(url: str) -> None:
    """And says how one looks."""
    where = Endpoint(url=url, token="t", absence="", remedy="")
    with pytest.raises(BadUsage, match="http://127"):
        ControlClient(where).status()


def test_a_token_that_cannot_be_sent_is_bad_usage() -> None:
    """A variable may hold any bytes."""
    where = Endpoint(url="http://127.0.0.1:1", token="\udcff", absence="", remedy="")
    with pytest.raises(BadUsage, match=r"control\.token"):
        ControlClient(where)


def test_a_wrong_token_is_told_by_the_peer(peer: Served) -> None:
    """The refusal carries the peer's own advice."""
    found = find_peer(peer.data)
    where = Endpoint(url=found.url, token="wrong", absence="", remedy="")
    with ControlClient(where) as client, pytest.raises(PeerRefused, match=r"control\.token") as refused:
        client.status()
    assert refused.value.problem.reason == "wrong_token"


def test_many_publishes_come_back_in_order(peer: Served) -> None:
    """Outcomes and problems, one for each line."""
    with ControlClient(find_peer(peer.data)) as client:
        said = list(client.publish_lines([b'{"topic": "a"}', b"nonsense", b'{"topic": "b"}']))
    assert [type(one) for one in said] == [PublishResponse, Problem, PublishResponse]


def test_a_stream_survives_what_looks_like_a_line_end(peer: Served) -> None:
    """Texts may hold separators of lines that are none in JSON lines."""
    odd = "a\u2028b\x85c\x0bd"
    with ControlClient(find_peer(peer.data)) as client, client.hold(SubscribeRequest(filter="")) as lines:
        taken = iter(lines)
        assert next(taken).verdict is not None
        client.publish(PublishRequest(topic="t", attributes={"odd": odd}))
        event = next(taken).event
    assert event is not None
    assert event.attributes == {"odd": odd}


def test_a_peer_that_stops_breaks_its_streams_with_advice(peer: Served) -> None:
    """Whoever reads is told that the peer has gone, and how to start it."""

    def read_until_the_end(client: ControlClient) -> None:
        with client.hold(SubscribeRequest(filter="")) as lines:
            for _ in lines:
                peer.stop()

    with ControlClient(find_peer(peer.data)) as client, pytest.raises(NoPeer, match=f"--data {peer.data}"):
        read_until_the_end(client)


def test_leaving_a_subscription_ends_it(peer: Served) -> None:
    """The peer notices at once."""
    with ControlClient(find_peer(peer.data)) as client:
        with client.hold(SubscribeRequest(filter="")):
            subscription = peer.subscription(0)
        peer.wait(subscription.ended.wait)


def test_a_stream_tells_the_refusal_that_ended_it(peer: Served) -> None:
    """As its last line."""
    with ControlClient(find_peer(peer.data)) as client, client.hold(SubscribeRequest(filter="")) as lines:
        peer.call(peer.subscription(0).put, NotReady("the peer is leaving", "start it again"))
        error = list(lines)[-1].error
    assert error is not None
    assert error.advice == "start it again"


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_are_whole_however_they_come(size: int) -> None:
    """Cut at line feeds alone, wherever the pieces end."""
    text = '{}\n"\u2028"\nrest'.encode()
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    assert list(split_lines(chunks)) == [b"{}", '"\u2028"'.encode(), b"rest"]
