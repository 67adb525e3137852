"""`p2psub --version`."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from typer.testing import CliRunner

from p2psub.cli import main

PROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"


def test_the_version_is_the_project_s() -> None:
    """One line, for people and for programs."""
    version = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"]
    said = CliRunner().invoke(main.app, ["--version"])
    assert (said.exit_code, said.stdout) == (0, f"p2psub {version}\n")


def test_sources_that_are_not_installed_have_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only an installed package has one; the command says so instead of failing."""

    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(main, "version", version)
    said = CliRunner().invoke(main.app, ["--version"])
    assert (said.exit_code, said.stdout) == (0, "p2psub, from sources that are not installed\n")
