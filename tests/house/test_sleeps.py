"""Nothing is waited for by sleeping and looking again where it could tell: a task that waits is woken."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SLEEPS = {
    "bootstrap/service.py": "the ledger is written by commands of the operator, which are other processes",
    "p2psub/analysis/standalone.py": "a Spark master is another program, and tells nobody that it listens",
    "p2psub/bench/arrival.py": "whether all has come is known by several peers, which answer and do not call",
    "p2psub/bench/earnings.py": "peers write their traces a second later: for the time itself",
    "p2psub/bench/promised.py": "peers write their traces and erase some seconds later: for the time itself",
    "p2psub/bench/stalled.py": "an owner has nothing to do for a while: for the time itself",
    "p2psub/demo/formation.py": "whether an overlay has formed is known by its peers, which answer and do not call",
    "p2psub/demo/overview.py": "whether they are idle, too",
    "p2psub/runtime/host.py": "the machine is measured once a minute: for the time itself",
    "p2psub/runtime/node_identity.py": "a certificate is renewed once a day, and sooner again after a failure",
    "p2psub/runtime/link.py": "a peer that sends too much is read later: for the time itself",
    "p2psub/runtime/store.py": "a disk that took nothing does not tell when it takes something again",
    "p2psub/runtime/trace_writer.py": "the same disk",
}
"""Modules that sleep, and why. `sleep_until` keeps a rate, `sleep_forever` waits for being cancelled: both are fine."""

MODULES = [path for package in ("p2psub", "bootstrap") for path in sorted((ROOT / package).rglob("*.py"))]


def sleeps(tree: ast.Module) -> Iterator[int]:
    """Lines in which a module sleeps for a while."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="sleep") | ast.Name(id="sleep")):
                yield node.lineno


def test_only_what_nobody_tells_is_slept_for() -> None:
    """Each with its reason."""
    found = {path for path in MODULES if any(sleeps(ast.parse(path.read_text(encoding="utf-8"))))}
    assert {path.relative_to(ROOT).as_posix() for path in found} == set(SLEEPS)


@pytest.mark.parametrize("source", ["await trio.sleep(1)", "time.sleep(1)", "sleep(1)"])
def test_sleeps_finds_them(source: str) -> None:
    """The check above is not blind."""
    tree = ast.parse(f"async def wait():\n    {source}")
    assert list(sleeps(tree)) == [2]
