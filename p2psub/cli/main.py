"""The command line `p2psub`. Exit codes: 0 fine, 1 bad configuration, 2 bad usage, 3 a promise was broken."""

from __future__ import annotations

import typer

from p2psub.cli import sim

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Peer-to-peer content-based publish/subscribe.")
app.add_typer(sim.app, name="sim")


@app.callback()
def main() -> None:
    """Peer-to-peer content-based publish/subscribe."""
