"""The tools that keep the house: linter, formatter, type checker, import contracts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

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
