"""No test is left out: `make test` and `make test-slow` run every one between them, and CI runs both."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
RULE = re.compile(
    r"^(?P<target>[a-z-]+):(?P<needs>[^#\n]*)(?:## (?P<purpose>.*))?\n(?P<recipe>(?:[\t#].*\n)*)", re.MULTILINE
)
RULES = {rule["target"]: rule for rule in RULE.finditer(MAKEFILE)}


def arguments_of(target: str) -> list[str]:
    """What a target hands to pytest, beyond what all of them do."""
    (command,) = RULES[target]["recipe"].splitlines()
    first, *rest = shlex.split(command)
    assert first == "$(PYTEST)"
    return rest


def test_every_test_is_in_one_of_two_targets() -> None:
    """What one selects the other leaves out, and neither names directories: what is new is in one of them."""
    assert arguments_of("test") == ["-m", "not slow"]
    assert arguments_of("test-slow") == ["-m", "slow"]
    (shared,) = [line for line in MAKEFILE.splitlines() if line.startswith("PYTEST :=")]
    assert not {"-m", "-k", "--ignore", "--deselect", "tests"} & set(shlex.split(shared.partition("pytest ")[2]))


def test_ci_runs_both() -> None:
    """The quick one first."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert [line for line in script.splitlines() if line.startswith("make ")] == ["make test", "make test-slow"]
    assert "set -euo pipefail" in script


def test_the_inner_loop_is_a_part_of_the_tests() -> None:
    """`make check` runs nothing that `make test` does not, and its directories are there."""
    *selected, directories = arguments_of("check")
    assert (selected, directories) == (arguments_of("test"), "$(QUICK)")
    (quick,) = re.findall(r"^QUICK := (.*)$", MAKEFILE, re.MULTILINE)
    assert all((ROOT / directory).is_dir() for directory in quick.split())


def test_every_target_says_what_it_is_for() -> None:
    """`make` lists them, and the README those that a reader needs."""
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert phony.split() == list(RULES)
    assert [target for target, rule in RULES.items() if not rule["purpose"]] == []
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^make ([a-z-]+) +# ", readme, re.MULTILINE)
    assert set(RULES) - {"help", "clean"} == set(shown)
