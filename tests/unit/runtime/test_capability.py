"""A machine's score compares with any other's, is made of parts that are shown, and follows what the links show."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
import trio
import trio.testing

from p2psub.api.status import Capability
from p2psub.runtime.capability import UNFIT, CapabilityMeter
from p2psub.runtime.tcp_figures import TcpFigures, figures_of

DAY_S = 86_400.0
NEAR = TcpFigures(rtt_us=1_000, rtt_min_us=1_000, bytes_per_s=1_000_000)
FAR = TcpFigures(rtt_us=150_000, rtt_min_us=150_000, bytes_per_s=1_000_000)


@pytest.fixture(autouse=True)
def steady_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory, disk and load do not change while we measure: as many bytes are free as there is room to count."""
    monkeypatch.setattr(os, "sysconf", lambda _: 1 << 20)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "getloadavg", lambda: (2.0, 0.0, 0.0))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 60))


def parts(capability: Capability) -> list[float]:
    """What a score is made of."""
    return list(msgspec.structs.astuple(capability))


@pytest.mark.parametrize("online_s", [0.0, 1000 * DAY_S])
@pytest.mark.parametrize("seen", [[], [TcpFigures(0, 0, 1 << 62)], [TcpFigures(1 << 31, 1 << 31, 0)]])
def test_every_part_is_between_nothing_and_one(tmp_path: Path, online_s: float, seen: list[TcpFigures]) -> None:
    """Whatever is measured; so no part can outweigh all others, and the sum is above that of one who may not lead."""
    capability = CapabilityMeter(tmp_path).measure(online_s, seen)
    assert all(0.0 <= part <= 1.0 for part in parts(capability))
    assert capability.score == pytest.approx(sum(parts(capability)))
    assert UNFIT < 0 < capability.score


def test_a_day_online_is_worth_a_point_and_no_more(tmp_path: Path) -> None:
    """So nobody leads for ever by being old."""
    measuring = CapabilityMeter(tmp_path)
    assert [measuring.measure(days * DAY_S).online for days in (0, 0.5, 1, 50)] == [0.0, 0.5, 1.0, 1.0]


def test_a_busy_machine_is_worth_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the processors that are idle, not by those that are there."""
    assert CapabilityMeter(tmp_path).measure(0.0).processors == 0.75
    monkeypatch.setattr(os, "getloadavg", lambda: (20.0, 0.0, 0.0))
    assert CapabilityMeter(tmp_path).measure(0.0).processors == 0.0


def test_near_neighbours_are_worth_more_than_far_ones(tmp_path: Path) -> None:
    """By the one in the middle: one that is far away says nothing of the cluster."""
    measuring = CapabilityMeter(tmp_path)
    near, mixed, far = (measuring.measure(0.0, seen).nearness for seen in ([NEAR], [NEAR, NEAR, FAR], [FAR]))
    assert near == mixed > 0.9
    assert far == 0.25
    assert measuring.measure(0.0).nearness == 0.0


def test_goodput_once_seen_fades_while_links_are_idle(tmp_path: Path) -> None:
    """An idle link shows little, and that proves nothing; nor does what was seen long ago."""
    measuring = CapabilityMeter(tmp_path)
    idle = TcpFigures(rtt_us=1_000, rtt_min_us=1_000, bytes_per_s=5_000)
    busy = measuring.measure(0.0, [NEAR, TcpFigures(1_000, 1_000, 50_000_000)]).goodput
    after = [measuring.measure(0.0, [idle]).goodput for _ in range(100)]
    assert busy > 0.9
    assert after[0] > 0.9 * busy
    assert sorted(after, reverse=True) == after
    assert after[-1] == 0.0


async def test_figures_are_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a connection that has carried something; what is none has none, and neither has one that is closed."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    client = await trio.open_tcp_stream(*listener.socket.getsockname())
    server = await listener.accept()
    async with listener, client, server:
        await client.send_all(bytes(100_000))
        await server.receive_some()
        figures = figures_of(client)
        assert figures is not None
        assert 0 < figures.rtt_us < 1_000_000
        assert figures.bytes_per_s > 0
    assert figures_of(client) is None
    memory, _ = trio.testing.memory_stream_pair()
    assert figures_of(memory) is None
