"""The tools that keep the house: linter, formatter, type checker, import contracts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

HOOKS = ROOT / ".pre-commit-config.yaml"
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
CHECKS = {
    "ruff check": ["-m", "ruff", "check", "."],
    "ruff format": ["-m", "ruff", "format", "--check", "."],
    "mypy --strict": ["-m", "mypy"],
    "import-linter": ["-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
}


@pytest.mark.parametrize("name", CHECKS)
def test_tool_has_nothing_to_say(name: str) -> None:
    """Each tool, configured in pyproject.toml, passes over the whole tree."""
    ran = subprocess.run([sys.executable, *CHECKS[name]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{name}\n{ran.stdout}\n{ran.stderr}"


def values_of(key: str, file: Path) -> list[str]:
    """Every value that a key has in a file of YAML, of those that stand on one line."""
    return re.findall(rf"^[- ]*{key}: *(.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)


def test_hooks_run_the_same_tools() -> None:
    """Before a commit: all of them, from the environment of the clone, and nothing that is fetched from elsewhere."""
    assert set(values_of("repo", HOOKS)) == {"local"}
    assert set(values_of("language", HOOKS)) == {"system"}
    assert values_of("name", HOOKS) == list(CHECKS)
    assert values_of("entry", HOOKS) == [
        ".venv/bin/python -m ruff check .",
        ".venv/bin/python -m ruff format --check .",
        ".venv/bin/python -m mypy",
        ".venv/bin/lint-imports",
    ]


def test_the_forge_runs_what_everybody_can_run() -> None:
    """The workflow adds no check of its own."""
    assert values_of("run", WORKFLOW) == [".ci/run"]
