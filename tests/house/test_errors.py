"""Errors of the public API: a program that imports p2psub can name all of them, and catch all of them by one."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import p2psub
from p2psub.errors import P2psubError, PeerFault

ROOT = Path(__file__).resolve().parents[2]

APART = {"analysis", "bench", "cli", "console", "demo", "soak"}
"""Packages of p2psub that use the public API, and are no part of it."""

INSIDE = {
    "BadConstant": "becomes a FilterError, which knows the place in the text",
    "BadEscape": "becomes a FilterError, too",
    "EnrolmentRefused": "raised in the bootstrap; a peer hears it as EnrolmentFailed",
    "NotReady": "an answer of the control API alone",
    "RowDamaged": "the row is set aside, and the peer goes on",
    "SegmentDamaged": "raised where traces are read, not by a peer",
}
"""Errors that no caller of the public API meets, and why. Neither does one meet a PeerFault: it ends one link."""

TOLD_TO_TRIO = {("runtime/link.py", "trio.TooSlowError"), ("runtime/strangers.py", "trio.TooSlowError")}
"""Raised for the task of one link, which counts it and ends."""


@cache
def modules() -> dict[str, ast.Module]:
    """Every module behind the public API, by its name, as a syntax tree."""
    found: dict[str, ast.Module] = {}
    for module in pkgutil.walk_packages(p2psub.__path__, "p2psub."):
        parts = module.name.split(".")
        if parts[1] not in APART and not module.ispkg and parts[-1] != "__main__":
            path = ROOT.joinpath(*parts).with_suffix(".py")
            found[module.name] = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    return found


@cache
def errors() -> dict[str, type[BaseException]]:
    """Every error that is defined behind the public API."""
    found: dict[str, type[BaseException]] = {}
    for name, tree in modules().items():
        classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for cls in (getattr(importlib.import_module(name), cls, None) for cls in classes):
            if isinstance(cls, type) and issubclass(cls, BaseException):
                found[cls.__name__] = cls
    return found


def foreign(tree: ast.Module) -> Iterator[str]:
    """What a module raises that is of Python or of trio; an AssertionError is a bug of ours, and may show itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
            is_foreign = raised.endswith(("Error", "Exception")) and raised.split(".")[-1] not in errors()
            if is_foreign and raised != "AssertionError":
                yield raised


def test_every_error_of_the_public_api_is_exported() -> None:
    """And every other one is caught inside, for a reason that is written down."""
    met = {name for name, cls in errors().items() if not issubclass(cls, PeerFault)} - set(INSIDE)
    assert {"ConfigError", "FilterError", "StoreBusy", "SubscriptionRefused"} <= met
    assert not met - set(p2psub.__all__)
    assert not set(INSIDE) - set(errors())
    assert not set(INSIDE) & set(p2psub.__all__)


def test_every_exported_error_has_one_root() -> None:
    """A program that catches P2psubError has caught them all."""
    exported = [getattr(p2psub, name) for name in p2psub.__all__]
    raised = [cls for cls in exported if isinstance(cls, type) and issubclass(cls, BaseException)]
    assert len(raised) > 10
    assert not [cls.__name__ for cls in raised if not issubclass(cls, P2psubError)]


def test_nothing_else_is_raised_on_purpose() -> None:
    """No error of Python or of trio, which a program would have to know of."""
    inside = ROOT / "p2psub"
    found = {(name, raised) for name, tree in modules().items() for raised in foreign(tree)}
    places = {
        (ROOT.joinpath(*name.split(".")).with_suffix(".py").relative_to(inside), raised) for name, raised in found
    }
    assert {(path.as_posix(), raised) for path, raised in places} == TOLD_TO_TRIO


def test_foreign_finds_what_is_raised() -> None:
    """The check above is not blind."""
    source = (
        "raise ValueError('x')\nraise trio.ClosedResourceError\nraise ConfigError('a', 'b')\nraise AssertionError\n"
    )
    assert list(foreign(ast.parse(source))) == ["ValueError", "trio.ClosedResourceError"]
