"""The command line `p2psub`.

Exit codes: 0 fine, 1 bad configuration or refused, 2 bad usage, 3 a promise was broken, 4 no peer reachable.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from p2psub.cli import analyze, bench, bootstrap, config, console, demo, filters, peer, pubsub, sim, soak, status, trace
from p2psub.cli.exits import EXIT_CODES

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Peer-to-peer content-based publish/subscribe.")
app.add_typer(bootstrap.app, name="bootstrap")
app.command()(peer.peer)
for command in (pubsub.pub, pubsub.sub, pubsub.advertise, console.console, status.status, status.ring, status.cube):
    app.command(epilog=EXIT_CODES)(command)
app.command("check-filter")(filters.check_filter)
app.command()(demo.demo)
app.command()(soak.soak)
app.command()(analyze.analyze)
app.add_typer(config.app, name="config")
app.add_typer(sim.app, name="sim")
app.add_typer(bench.app, name="bench")
app.add_typer(trace.app, name="trace")


def _print_version(is_asked: bool) -> None:
    if not is_asked:
        return
    try:
        print(f"p2psub {version('p2psub')}")
    except PackageNotFoundError:
        print("p2psub, from sources that are not installed")
    raise typer.Exit


@app.callback()
def main(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Peer-to-peer content-based publish/subscribe."""
