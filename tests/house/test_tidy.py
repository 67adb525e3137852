"""How the code reads and what cores may not touch; the rules that no linter has."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOP_LEVEL = {
    ".ci",
    ".github",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "bootstrap",
    "docs",
    "hatch_build.py",
    "p2psub",
    "pyproject.toml",
    "sims",
    "tests",
}
GRAB_BAGS = {"utils.py", "helpers.py", "common.py", "misc.py"}
LINES_MAX = 400
NOT_CORES = {"api", "cli", "runtime", "console", "demo", "soak", "bench", "traces", "web", "analysis"}

PACKAGES = [
    path for package in ("p2psub", "bootstrap", "sims", "tests") for path in sorted((ROOT / package).rglob("*.py"))
]
SHIPPED = [path for path in PACKAGES if path.is_relative_to(ROOT / "p2psub")]
CORES = [path for path in SHIPPED if path.relative_to(ROOT / "p2psub").parts[0] not in NOT_CORES]


def parse(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def forbidden(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of everything in a module whose result depends on the process it runs in."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names if alias.name in {"random", "time"})
            case ast.ImportFrom(module="random", names=names):
                yield from ((node.lineno, f"random.{alias.name}") for alias in names if alias.name != "Random")
            case ast.ImportFrom(module="time"):
                yield node.lineno, "time"
            case ast.Attribute(value=ast.Name(id="datetime" | "date"), attr="now" | "utcnow" | "today"):
                yield node.lineno, f"datetime.{node.attr}"
            case ast.Call(func=ast.Name(id="id" | "hash" as name)):
                yield node.lineno, f"{name}()"
            case ast.For(iter=walked) | ast.comprehension(iter=walked) if is_set(walked):
                yield walked.lineno, "a set walked in its own order"


def is_set(walked: ast.expr) -> bool:
    """Whether an expression is a set on the face of it."""
    return isinstance(walked, ast.Set | ast.SetComp) or (
        isinstance(walked, ast.Call) and isinstance(walked.func, ast.Name) and walked.func.id in {"set", "frozenset"}
    )


def test_modules_are_short() -> None:
    """No module of p2psub is longer than 400 lines."""
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in SHIPPED}
    assert not {path: lines for path, lines in lengths.items() if lines > LINES_MAX}


def test_modules_have_one_idea() -> None:
    """There is no grab-bag module anywhere."""
    assert not [path.relative_to(ROOT) for path in PACKAGES if path.name in GRAB_BAGS]


def test_modules_say_what_they_are() -> None:
    """Every module that has code begins with a docstring."""
    trees = ((path, parse(path)) for path in PACKAGES)
    assert not [path.relative_to(ROOT) for path, tree in trees if tree.body and not ast.get_docstring(tree)]


def test_cores_depend_on_their_inputs_alone() -> None:
    """No core reads a clock, draws from global randomness, or uses an order that changes between processes."""
    assert not [f"{path.relative_to(ROOT)}:{line}: {name}" for path in CORES for line, name in forbidden(parse(path))]


def decoded(tree: ast.Module) -> Iterator[str]:
    """Names of the classes in a module whose annotations the codec reads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base).rsplit(".", 1)[-1] for base in node.bases}
            if bases & {"Struct", "NamedTuple", "TypedDict", "Message"}:
                yield node.name


def test_nothing_that_is_decoded_is_compiled() -> None:
    """A compiled class keeps `int` of `Annotated[int, Meta(ge=0)]`: what comes over a link would pass unchecked."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["modules"]
    modules = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    assert len(modules) > 50
    assert not [f"{path.relative_to(ROOT)}: {name}" for path in modules for name in decoded(parse(path))]


def test_decoded_finds_what_the_codec_reads() -> None:
    """The check above is not blind."""
    source = (
        "class A(msgspec.Struct, frozen=True): pass\nclass B(NamedTuple): pass\nclass C(Message): pass\nclass D: pass"
    )
    assert list(decoded(ast.parse(source))) == ["A", "B", "C"]


@pytest.mark.parametrize(
    "source",
    [
        "import random\nrandom.random()",
        "from random import choice",
        "import time",
        "from time import monotonic",
        "from datetime import datetime\ndatetime.now()",
        "id(x)",
        "hash('x')",
        "for x in {1, 2}: pass",
        "[x for x in set(y)]",
    ],
)
def test_forbidden_finds_what_cores_may_not_do(source: str) -> None:
    """The check above is not blind."""
    assert list(forbidden(ast.parse(source)))


def test_tree_holds_what_it_should() -> None:
    """The tracked tree has exactly the allowed names at its top."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    if not listed:
        pytest.skip("nothing is tracked yet")
    assert {name.split("/")[0] for name in listed.split("\0") if name} == TOP_LEVEL
