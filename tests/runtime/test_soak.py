"""The soak as CI runs it: ten processes over TLS, three of them killed with SIGKILL and started again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from p2psub.demo.fleet import COMMAND

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_three_rounds_of_kills_cost_no_event(tmp_path: Path) -> None:
    """An owner, a holder and a super-node are killed: what was acknowledged arrives once, and every audit holds."""
    command = [*COMMAND, "soak", "--rounds", "3", "--rate", "100", "--state", str(tmp_path / "run"), "--json"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = json.loads(ran.stdout)
    assert report["kills"] == {"holder": 1, "owner": 1, "super_node": 1}
    assert (report["lost"], report["duplicates"], report["unwanted"], report["is_settled"]) == (0, 0, 0, True)
    assert report["published"] == report["acknowledged"] + sum(report["refused"].values())
    assert report["acknowledged"] > 1000
    assert report["received"] > report["acknowledged"]
    assert report["audit_violations"] == 0
    assert min(report["rss_mb_max"], report["trace_bytes"], report["audit_seconds"]) > 0
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"analysis", "bootstrap", "logs", "peers"}
    assert sum("round " in line for line in ran.stderr.splitlines()) == 3
