"""The control API, asked from trio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from p2psub.api.problems import Problem
from p2psub.api.schemas import PublishRequest, PublishResponse, StreamLine, SubscribeRequest
from p2psub.demo.controls import Controls, PeerSilent
from p2psub.model.outcomes import VerdictStatus
from p2psub.runtime.control.server import serve_control
from tests.unit.runtime.control.fakes import STATUS, FakePeer


@asynccontextmanager
async def served(data: Path) -> AsyncIterator[Controls]:
    """The controls of a fake peer."""
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(serve_control, FakePeer(), data))
        async with Controls("ann", data) as controls:
            yield controls
        nursery.cancel_scope.cancel()


async def test_a_peer_says_how_it_is(tmp_path: Path) -> None:
    """The status page, whole."""
    async with served(tmp_path) as peer:
        status = await peer.status()
    assert (status.name, status.ready, status.ring.role) == ("ann", True, STATUS.node.role)


async def test_a_subscription_gives_its_verdict_and_then_what_is_published(tmp_path: Path) -> None:
    """Line by line, until nobody listens any more."""
    say, heard = trio.open_memory_channel[StreamLine](2)
    async with served(tmp_path) as peer, trio.open_nursery() as nursery:
        nursery.start_soon(peer.listen, SubscribeRequest(filter="topic = 'quotes'"), say.send_nowait)
        first = await heard.receive()
        outcome = await peer.publish(PublishRequest(topic="quotes", attributes={"price": 5}))
        second = await heard.receive()
        nursery.cancel_scope.cancel()
    assert first.verdict is not None
    assert first.verdict.status is VerdictStatus.ACCEPTED
    assert second.event is not None
    assert (second.event.id, second.event.attributes) == (outcome.event, {"price": 5})


async def test_many_events_are_answered_one_by_one(tmp_path: Path) -> None:
    """In their order; one that is refused does not stop the others."""
    requests = [PublishRequest(topic=topic) for topic in ("quotes", "secret", "quotes")]
    async with served(tmp_path) as peer:
        first, refused, last = await peer.publish_many(requests)
    assert isinstance(first, PublishResponse)
    assert isinstance(refused, Problem)
    assert isinstance(last, PublishResponse)
    assert first.event != last.event
    assert "secret" in refused.message


async def test_a_refusal_is_told_with_the_name_of_the_peer(tmp_path: Path) -> None:
    """Whatever was asked for."""
    async with served(tmp_path) as peer:
        with pytest.raises(PeerSilent, match="ann answers 403"):
            await peer.publish(PublishRequest(topic="secret"))
        with pytest.raises(PeerSilent, match="ann answers 403"):
            await peer.listen(SubscribeRequest(filter="topic = 'secret'"), print)


async def test_a_peer_that_is_gone_is_told(tmp_path: Path) -> None:
    """Nobody listens at its address any more."""
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(serve_control, FakePeer(), tmp_path))
        controls = Controls("ann", tmp_path)
        nursery.cancel_scope.cancel()
    async with controls:
        with pytest.raises(PeerSilent, match="ann does not answer"):
            await controls.status()
