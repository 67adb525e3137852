"""The package's front door: everything it promises is there, and importing it costs nothing."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import p2psub


@pytest.mark.parametrize("name", p2psub.__all__)
def test_every_promised_name_is_there(name: str) -> None:
    """Loaded when it is first asked for."""
    found = getattr(p2psub, name)
    assert found is getattr(import_module(p2psub._HOMES[name]), name)
    assert getattr(found, "__name__", name) == name


def test_every_name_with_a_home_is_promised() -> None:
    """And the other way round: there is one list of names, written twice for the type checker."""
    assert sorted(p2psub._HOMES) == sorted(p2psub.__all__)


def test_a_reader_sees_every_promised_name() -> None:
    """`dir(p2psub)`, and so completion, shows what is not loaded yet."""
    program = "import p2psub; print(sorted(set(p2psub.__all__) - set(dir(p2psub))))"
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert said.stdout == "[]\n"
    assert "__doc__" in dir(p2psub)


def test_unknown_name_is_an_attribute_error() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="no attribute 'Broker'"):
        p2psub.Broker  # type: ignore[attr-defined] # noqa: B018


def test_importing_the_package_loads_no_runtime() -> None:
    """A command that only prints its help, or a program that only wants a type, waits for nothing."""
    program = "import sys, p2psub; print(sorted(m for m in sys.modules if m.split('.')[0] in ('trio', 'msgspec')))"
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert said.stdout == "[]\n"
