"""The compiled wheel does what its sources say: it is built here, without optimisation, and simulates the same runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
COMPILER = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
BUILT = {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true", "P2PSUB_OPTIMISE": "0"}
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


@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"there is no C compiler {COMPILER!r}")
def test_compiled_and_pure_runs_of_one_seed_leave_one_trace(tmp_path: Path) -> None:
    """Under faults, every record and its order; and what ran was compiled, all that pyproject.toml names."""
    before = sorted(ROOT.rglob("*.so"))
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    built = subprocess.run(build, cwd=ROOT, env=os.environ | BUILT, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "wheel")
    assert sorted(ROOT.rglob("*.so")) == before, "something compiled was left in the source tree"

    loaded = run(["-c", LOADED], tmp_path / "wheel", tmp_path)
    for name in ("p2psub.node.core", "p2psub.model.step", "p2psub.owner.topic_owner", "sims.engine.world"):
        assert loaded[name] == str(tmp_path / "wheel" / name.replace(".", "/")) + SUFFIX
    named = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for pattern in named["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["modules"]:
        for source in ROOT.glob(pattern):
            if source.name != "__init__.py":
                assert (tmp_path / "wheel" / source.relative_to(ROOT)).with_suffix(SUFFIX).exists(), source

    assert run(["-c", BEGUN], tmp_path / "wheel", tmp_path) == run(["-c", BEGUN], ROOT, tmp_path) == 2

    compiled = run(["-m", "p2psub", *SIMULATED.split()], tmp_path / "wheel", tmp_path)
    pure = run(["-m", "p2psub", *SIMULATED.split()], ROOT, tmp_path)
    assert compiled["delivered"] > 100
    assert {**compiled, "node_seconds_per_cpu_second": 0} == {**pure, "node_seconds_per_cpu_second": 0}
