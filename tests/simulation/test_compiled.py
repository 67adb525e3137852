"""The compiled wheel does what its sources say: it simulates the same runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.recorded import SEEDS, UNCOMPILED, Recorded, recorded
from tests.simulation.wheels import PACKAGES, ROOT

pytestmark = pytest.mark.slow

SUFFIX: str = sysconfig.get_config_var("EXT_SUFFIX")
SIMULATED = "sim overlay --clusters 3 --members 4 --seconds 160 --seeds 1 --jobs 1 --json"
LOADED = """
import json, sys
import sims.benchmarks.simulator
print(json.dumps({name: getattr(module, "__file__", None) for name, module in sys.modules.items()}))
"""
BEGUN = """
from random import Random
from p2psub.config import NodeConfig
from p2psub.model.effects import TimerFired
from p2psub.model.ids import Contact
from p2psub.node.core import NodeCore
from p2psub.runtime.driver import _Batch
core = NodeCore(Contact(bytes(20), "here"), 1, NodeConfig(), Random(0), {}, (), None)
core.step([], 0)
batch = _Batch([TimerFired(), object(), TimerFired()])
try:
    core.step(batch, 1_000_000)
except Exception:
    print(batch.begun)
"""
"""A step that fails at its second input, and what its driver then knows of it."""


def run(arguments: list[str], packages: Path, cwd: Path) -> Any:
    """What a process prints that finds p2psub and sims in `packages`."""
    ran = subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_compiled_and_pure_runs_of_one_seed_leave_one_trace(compiled: Path, tmp_path: Path) -> None:
    """Under faults, every record and its order."""
    assert run(["-c", BEGUN], compiled, tmp_path) == run(["-c", BEGUN], ROOT, tmp_path) == 2

    ours, pure = (run(["-m", "p2psub", *SIMULATED.split()], packages, tmp_path) for packages in (compiled, ROOT))
    assert ours["delivered"] > 100
    assert {**ours, "node_seconds_per_cpu_second": 0} == {**pure, "node_seconds_per_cpu_second": 0}


def test_all_that_is_named_is_compiled(compiled: Path, tmp_path: Path) -> None:
    """All that pyproject.toml names is machine code in the wheel, and is what runs; nothing is in the source tree."""
    assert not [path for package in (*PACKAGES, "build") for path in (ROOT / package).rglob("*.so")]
    loaded = run(["-c", LOADED], compiled, tmp_path)
    for name in ("p2psub.node.core", "p2psub.model.step", "p2psub.owner.owner", "sims.engine.world"):
        assert loaded[name] == str(compiled / name.replace(".", "/")) + SUFFIX
    named = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for pattern in named["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["modules"]:
        for source in ROOT.glob(pattern):
            if source.name != "__init__.py":
                assert (compiled / source.relative_to(ROOT)).with_suffix(SUFFIX).exists(), source


@pytest.mark.parametrize("seed", [seed for seed in SEEDS if seed not in UNCOMPILED])
def test_a_compiled_seed_gives_what_was_recorded(
    seed: int, compiled: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """No violation in any of them, and as many events published and delivered as when they were recorded."""
    said = run(["-m", "p2psub", "sim", "overlay", "--seeds", str(seed), "--jobs", "1", "--json"], compiled, tmp_path)
    given = Recorded(seed, said["published"], said["delivered"], len(said["violations"] + said["too_short"]))
    record_property("campaign", f"seed {seed:3}: compiled, {given}, {said['crashes']} crashes ({said['wipes']} wiped)")
    assert given == recorded()[seed]
