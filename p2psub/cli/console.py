"""`p2psub console`: talk to a running peer."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from p2psub.cli.client import ControlClient
from p2psub.cli.endpoint import find_peer
from p2psub.cli.exits import EXIT_REFUSED, explained
from p2psub.cli.options import Data


def console(data: Data = None) -> None:
    """Subscribe, publish and look around in a console; commands may also come from a pipe, one a line.

    p2psub console --data DIR

    echo 'publish quotes/ACME price=12.5' | p2psub console --data DIR
    """
    with explained(as_json=False):
        where = find_peer(data)
        with ControlClient(where) as client:
            _talk(client, where.data)


def _talk(client: ControlClient, data: Path | None) -> None:
    from rich.console import Console  # noqa: PLC0415, `--help` must be quick

    from p2psub.console.shell import run_prompt, run_script  # noqa: PLC0415

    if sys.stdin.isatty():
        run_prompt(client, data)
    elif not run_script(client, sys.stdin, Console(soft_wrap=True)):
        raise typer.Exit(EXIT_REFUSED)
