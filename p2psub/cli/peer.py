"""`p2psub peer`: run a peer until told to stop."""

from __future__ import annotations

import json
import logging
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from p2psub.cli.advice import advised

if TYPE_CHECKING:
    from p2psub.runtime.host import PeerConfig
    from p2psub.runtime.peer import Peer
    from p2psub.runtime.status import PeerStatus

LOOK_EVERY_S = 0.2
LOOK_WHEN_READY_S = 2.0
"""A peer that is ready changes seldom, and a picture of it costs as much as a message."""


def peer(
    data: Annotated[Path, typer.Option(envvar="P2PSUB_DATA", help="Where it keeps its key, events and traces.")],
    bootstrap: Annotated[
        str | None, typer.Option(envvar="P2PSUB_BOOTSTRAP", help="HOST:PORT of the bootstrap; needed for enrolling.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(envvar="P2PSUB_JOIN_TOKEN", help="What `p2psub bootstrap token new` printed; needed once."),
    ] = None,
    listen: Annotated[
        str, typer.Option(envvar="P2PSUB_LISTEN", help="HOST:PORT where other peers reach it; port 0: a free one.")
    ] = "127.0.0.1:0",
    advertise: Annotated[
        str | None, typer.Option(envvar="P2PSUB_ADVERTISE", help="HOST:PORT to tell the others, behind a NAT say.")
    ] = None,
    name: Annotated[str, typer.Option(envvar="P2PSUB_NAME", help="What you call it.")] = "peer",
    cluster: Annotated[
        str, typer.Option(envvar="P2PSUB_CLUSTER", help="A cluster's name; auto: by distance and size.")
    ] = "auto",
    super_node: Annotated[bool, typer.Option(help="Whether it may become its cluster's super-node.")] = True,
    control_port: Annotated[int, typer.Option(help="Port of the control API on loopback; 0: a free one.")] = 0,
    traces: Annotated[bool, typer.Option(help="Whether to write trace segments for the analysis.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per change of stage.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log links and faults too.")] = False,
) -> None:
    """Run a peer: enrol, join a cluster, serve.

    It prints how far it has come and what it waits for. Ctrl-C or SIGTERM end it in good order. The second time you
    start it with the same data directory it needs neither bootstrap nor token.
    """
    import trio  # noqa: PLC0415, `--help` must be quick

    from p2psub.runtime.host import PeerConfig  # noqa: PLC0415

    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(levelname)s %(message)s")
    config = PeerConfig(
        data=data,
        bootstrap=bootstrap,
        token=token,
        listen=listen,
        advertise=advertise,
        name=name,
        cluster=None if cluster == "auto" else cluster,
        may_rule=super_node,
        traces=traces,
    )
    with advised():
        trio.run(_run, config, control_port, as_json)


async def _run(config: PeerConfig, control_port: int, as_json: bool) -> None:
    import trio  # noqa: PLC0415

    from p2psub.runtime.control.server import serve_control  # noqa: PLC0415
    from p2psub.runtime.garbage import spare_the_collector  # noqa: PLC0415
    from p2psub.runtime.host import open_peer  # noqa: PLC0415

    # Before signals are for leaving: whoever waits for a bootstrap that does not answer can end that at once.
    await _enrol(config)
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with open_peer(config) as peer_, trio.open_nursery() as nursery:
            url = await nursery.start(serve_control, peer_, config.data, control_port)
            spare_the_collector()
            _say(peer_.status(), as_json, control=url)
            nursery.start_soon(_tell_stages, peer_, as_json)
            async for _ in signals:
                break
            print(f"{config.name} is leaving: it gives away what it holds", file=sys.stderr, flush=True)
            nursery.cancel_scope.cancel()


async def _enrol(config: PeerConfig) -> None:
    from p2psub.runtime.identifying import identify  # noqa: PLC0415
    from p2psub.runtime.state import State  # noqa: PLC0415

    state = State(config.data)
    if config.token is not None and state.enrolment() is None:
        print(f"{config.name} is enrolling at {config.bootstrap}", file=sys.stderr, flush=True)
    await identify(state, config.bootstrap, config.token)


async def _tell_stages(peer_: Peer, as_json: bool) -> None:
    import trio  # noqa: PLC0415

    told = None
    while True:
        status = peer_.status()
        now = (status.stage, status.missing, status.node.role)
        if now != told:
            told = now
            _say(status, as_json)
        await trio.sleep(LOOK_WHEN_READY_S if status.ready else LOOK_EVERY_S)


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
    where = "" if node.cluster is None else f", {node.role.value} of cluster {node.cluster}"
    rest = "" if status.missing is None else f": {status.missing}"
    extra = "".join(f", {word} {value}" for word, value in more.items())
    print(f"{status.name} {node.id.hex()[:10]} at {status.address} is {status.stage}{where}{rest}{extra}", flush=True)
