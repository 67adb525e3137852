"""The demo as a person runs it: real processes, TLS on loopback, SIGKILL. The slowest test of this directory."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from p2psub.demo.fleet import COMMAND
from p2psub.traces.segments import read_segments

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("--peers=4", "--clusters=1", "--publishers=2", "--subscribers=2", "--subscriptions=6", "--kill-members=0")
EXIT_SIGNAL = 128
DYING_S_MAX = 60.0
"""A hang is red too; how long dying takes is no claim."""


def start(*options: str) -> subprocess.Popen[str]:
    """The demo with these options, from the root of the repository."""
    command = [*COMMAND, "demo", *SMALL, *options]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_killed_super_node_costs_no_event(tmp_path: Path) -> None:
    """Four peers lose their super-node while they work: all is handed over, once, and the traces say so too."""
    with start("--events", "60", "--data", str(tmp_path), "--json") as demo:
        said, told = demo.communicate()
    report = json.loads(said)
    assert demo.returncode == 0, told
    assert (report["published"], report["acknowledged"], report["lost"], report["duplicates"]) == (60, 60, 0, 0)
    assert (report["expected"], report["coverage"]) == (report["delivered"], 1.0)
    assert (report["peers"], report["clusters"], report["super_nodes"], report["failovers"]) == (4, 1, 1, 1)
    assert [victim["role"] for victim in report["killed"]] == ["super_node"]
    assert {path.name for path in tmp_path.glob("peers/*/*")} == {"traces"}
    audited = report["analysis"]
    assert (audited["published"], audited["matched"], audited["lost"]) == (60, report["matched"], 0)
    assert audited["delivered"] + audited["unknown"] == report["delivered"]
    assert (audited["violations"], audited["failovers"], audited["cut"]) == ([], 1, 1)
    assert Path(audited["report"]).read_text(encoding="utf-8").count("<svg") >= 4
    assert any(record.event for record in read_segments(Path(report["trace_dir"])))


def ports_of(data: Path) -> list[int]:
    """Where the peers of a demo with this directory listen to applications."""
    return [int(path.read_text(encoding="utf-8").rpartition(":")[2]) for path in data.glob("peers/*/control.url")]


def is_open(port: int) -> bool:
    """Whether a process listens there; the system closes what a dead one had open."""
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_demo_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    """However it ends, its peers go with it; their files too, if it could do anything about them."""
    data = tmp_path / "run"
    with start("--data", str(data)) as demo:
        assert demo.stderr is not None
        while "forming" not in demo.stderr.readline():
            assert demo.poll() is None
        ports = ports_of(data)
        demo.send_signal(number)
        demo.communicate()
    deadline_s = time.monotonic() + DYING_S_MAX
    while any(map(is_open, ports)) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert (len(ports), [port for port in ports if is_open(port)]) == (4, [])
    assert demo.returncode == (-number if number == signal.SIGKILL else EXIT_SIGNAL + number)
    assert data.exists() is (number == signal.SIGKILL)
