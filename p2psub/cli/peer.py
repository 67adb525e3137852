"""`p2psub peer`: run a peer until told to stop."""

from __future__ import annotations

import json
import logging
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from p2psub.api.settings import PeerConfig
from p2psub.cli.exits import explained
from p2psub.cli.settings import CONFIG_HELP, help_of
from p2psub.cli.settings_file import peer_config
from p2psub.model.status import LifeStage

if TYPE_CHECKING:
    from p2psub.api.status import PeerStatus
    from p2psub.runtime.peer import Peer

_WITH_OBJECT: Final = frozenset({LifeStage.SEEKING, LifeStage.JOINING, LifeStage.FOUNDING, LifeStage.LEAVING})
"""Stages that a peer with a cluster goes through with regard to it; in the others it has a role in it."""


def peer(
    config: Annotated[Path | None, typer.Option(envvar="P2PSUB_CONFIG", help=CONFIG_HELP)] = None,
    data: Annotated[Path | None, typer.Option(help=help_of("peer.data"))] = None,
    bootstrap: Annotated[str | None, typer.Option(help=help_of("peer.bootstrap"))] = None,
    token: Annotated[str | None, typer.Option(help=help_of("peer.token"))] = None,
    listen: Annotated[str | None, typer.Option(help=help_of("peer.listen"))] = None,
    public_address: Annotated[str | None, typer.Option(help=help_of("peer.public_address"))] = None,
    name: Annotated[str | None, typer.Option(help=help_of("peer.name"))] = None,
    cluster: Annotated[str | None, typer.Option(help=help_of("peer.cluster"))] = None,
    super_node: Annotated[
        bool | None, typer.Option("--super-node/--no-super-node", help=help_of("peer.super_node"))
    ] = None,
    control_port: Annotated[int | None, typer.Option(help=help_of("peer.control_port"))] = None,
    traces: Annotated[bool | None, typer.Option("--traces/--no-traces", help=help_of("peer.traces"))] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per change of stage.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log links and faults too.")] = False,
) -> None:
    """Run a peer: enrol, join a cluster, serve.

    It prints how far it has come and what it waits for. Ctrl-C or SIGTERM end it gracefully. The second time you
    start it with the same data directory it needs neither bootstrap nor token.
    """
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(levelname)s %(message)s")
    with explained(as_json):
        chosen = peer_config(
            config,
            {
                "data": data,
                "bootstrap": bootstrap,
                "token": token,
                "listen": listen,
                "public_address": public_address,
                "name": name,
                "cluster": cluster,
                "super_node": super_node,
                "control_port": control_port,
                "traces": traces,
            },
        )
        import trio  # noqa: PLC0415, `--help` must be quick

        trio.run(_run, chosen, as_json)


async def _run(config: PeerConfig, as_json: bool) -> None:
    import trio  # noqa: PLC0415

    from p2psub.runtime.control.server import serve_control  # noqa: PLC0415
    from p2psub.runtime.gc_tuning import tune_gc  # noqa: PLC0415
    from p2psub.runtime.host import open_peer  # noqa: PLC0415

    # Before signals are for leaving: a person who waits for a silent bootstrap can end that at once.
    await _enrol(config)
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with open_peer(config) as peer_, trio.open_nursery() as nursery:
            url = await nursery.start(serve_control, peer_, config.data, config.control_port)
            tune_gc()
            nursery.start_soon(_tell_stages, peer_, as_json, url)
            async for _ in signals:
                break
            print(f"{config.name} is leaving: it gives away what it holds", file=sys.stderr, flush=True)
            nursery.cancel_scope.cancel()


async def _enrol(config: PeerConfig) -> None:
    from p2psub.runtime.node_identity import identify  # noqa: PLC0415
    from p2psub.runtime.state import State  # noqa: PLC0415

    state = State.of_peer(config.data)
    known = state.enrolment()
    if config.token is not None and known is None:
        print(f"{config.name} is enrolling at {config.bootstrap}", file=sys.stderr, flush=True)
    identity = await identify(state, config.bootstrap, config.token)
    if config.token is not None and identity.enrolment == known:
        days = identity.left_s(time.time()) / 86_400
        advice = f"for other rights, remove {state.enrolment_file} first"
        print(f"{config.name} needs no token: its certificate has {days:.1f} days left; {advice}", file=sys.stderr)


async def _tell_stages(peer_: Peer, as_json: bool, url: str) -> None:
    """Tell each change of stage; the first line also says where the control API is."""
    status, more = peer_.status(), {"control": url}
    while True:
        _say(status, as_json, **more)
        status, more = await peer_.wait_status(partial(_differ, status)), {}


def _differ(before: PeerStatus, now: PeerStatus) -> bool:
    return (before.stage, before.missing, before.node.role) != (now.stage, now.missing, now.node.role)


def _say(status: PeerStatus, as_json: bool, **more: object) -> None:
    node = status.node
    if as_json:
        picture = {
            "name": status.name,
            "id": node.id.hex(),
            "address": status.address,
            "stage": status.stage,
            "missing": status.missing,
            "ready": status.ready,
            "cluster": node.cluster,
            "role": node.role.value,
            **more,
        }
        print(json.dumps(picture), flush=True)
        return
    rest = "" if status.missing is None else f": {status.missing}"
    extra = "".join(f", {word} {value}" for word, value in more.items())
    print(f"{status.name} {node.id.hex()[:10]} at {status.address} is {_place(status)}{rest}{extra}", flush=True)


def _place(status: PeerStatus) -> str:
    """The stage, and the cluster: "joining cluster home", "ready, member of cluster home"."""
    cluster, role = status.node.cluster, status.node.role.value
    if cluster is None:
        return status.stage
    if status.stage in _WITH_OBJECT:
        return f"{status.stage} cluster {cluster}"
    return f"{status.stage}, {role} of cluster {cluster}"
