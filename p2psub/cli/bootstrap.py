"""`p2psub bootstrap`: run the rendezvous and authority of an overlay, and make join tokens."""

from __future__ import annotations

import json
import logging
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from bootstrap.settings import ServiceConfig
from p2psub.api.validation import text_bytes
from p2psub.cli.exits import explained
from p2psub.cli.settings import CONFIG_HELP, help_of
from p2psub.cli.settings_file import service_config
from p2psub.errors import ConfigError
from p2psub.model.ids import ID_BYTES, NodeId, Place

if TYPE_CHECKING:
    from bootstrap.authority import Authority
    from bootstrap.tokens import TokenRecord

DAY_S = 86_400
DAYS_MAX = 36_500
"""A hundred years."""

app = typer.Typer(help="The rendezvous and authority of an overlay.")
token_app = typer.Typer(no_args_is_help=True, help="Join tokens: what a newcomer enrols with.")
app.add_typer(token_app, name="token")

Data = Annotated[Path, typer.Option(envvar="P2PSUB_BOOTSTRAP_DATA", help="The authority's directory. Back it up.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    config: Annotated[Path | None, typer.Option(envvar="P2PSUB_CONFIG", help=CONFIG_HELP)] = None,
    data: Annotated[Path | None, typer.Option(help=help_of("bootstrap.data"))] = None,
    listen: Annotated[str | None, typer.Option(help=help_of("bootstrap.listen"))] = None,
    public_address: Annotated[str | None, typer.Option(help=help_of("bootstrap.public_address"))] = None,
    overlay: Annotated[str | None, typer.Option(help=help_of("bootstrap.overlay"))] = None,
    as_json: AsJson = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log who is refused, and why.")] = False,
) -> None:
    """Run the bootstrap of an overlay, made on the first start. Peers that have joined live on without it."""
    if context.invoked_subcommand is not None:
        return
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(levelname)s %(message)s")
    with explained(as_json):
        options = {"data": data, "listen": listen, "public_address": public_address, "overlay": overlay}
        chosen = service_config(config, options)
        import trio  # noqa: PLC0415, `--help` must be quick

        trio.run(_serve, chosen, as_json)


async def _serve(config: ServiceConfig, as_json: bool) -> None:
    import trio  # noqa: PLC0415

    from bootstrap.authority import Authority, serving  # noqa: PLC0415
    from bootstrap.service import Service  # noqa: PLC0415

    is_new = not config.data.exists()
    with (
        serving(config.data),
        closing(Authority.load_or_create(config.data, config.overlay)) as authority,
        trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals,
    ):
        async with trio.open_nursery() as nursery:
            me = await nursery.start(Service(config, authority, is_new=is_new).run)
            if as_json:
                print(json.dumps({"address": me.address, "overlay": authority.overlay, "ready": True}), flush=True)
            else:
                advice = f"make a token: p2psub bootstrap token new --data {config.data}"
                print(f"bootstrap of {authority.overlay} at {me.address}; {advice}", flush=True)
            async for _ in signals:
                break
            nursery.cancel_scope.cancel()


@token_app.command("new")
def new_token(
    data: Data,
    reusable: Annotated[bool, typer.Option(help="May enrol many peers, not one.")] = False,
    days: Annotated[float, typer.Option(help="How long it may be used.")] = 1.0,
    publish: Annotated[
        list[str] | None, typer.Option(help="Topics it may publish, * at the end: all that begin so. Default: all.")
    ] = None,
    subscribe: Annotated[list[str] | None, typer.Option(help="Topics it may subscribe to. Default: all.")] = None,
    super_node: Annotated[bool, typer.Option(help="Whether its peers may become super-nodes.")] = True,
    note: Annotated[str, typer.Option(help="What it is for.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make a join token, and print it this once: only its hash is kept."""
    from p2psub.model.rights import Rights  # noqa: PLC0415

    with _authority(data, as_json) as authority:
        if not 1 <= days * DAY_S <= DAYS_MAX * DAY_S:
            raise ConfigError("days", f"must be above 0 and at most {DAYS_MAX:,}; give a fraction of a day, or more")
        text_bytes("the note", note)
        rights = Rights(tuple(publish or ["*"]), tuple(subscribe or ["*"]), super_node)
        text = authority.tokens.new(rights, reusable, int(days * DAY_S), time.time(), note)
    print(json.dumps({"token": text}) if as_json else text)


@token_app.command("list")
def list_tokens(data: Data, as_json: AsJson = False) -> None:
    """Show what tokens there are, without their secrets."""
    with _authority(data, as_json) as authority:
        records = authority.tokens.list()
    if as_json:
        print(json.dumps([_picture(record) for record in records]))
        return
    pictures = [_picture(record) for record in records]
    table = Table(*(pictures[0] if pictures else ["no tokens yet: make one with `token new`"]))
    for picture in pictures:
        table.add_row(*(", ".join(map(str, v)) if isinstance(v, list) else str(v) for v in picture.values()))
    Console().print(table)


@token_app.command("revoke")
def revoke_token(
    data: Data,
    prefix: Annotated[str, typer.Argument(help="The beginning of its name, as `list` shows it.")],
    as_json: AsJson = False,
) -> None:
    """Make a token worthless; peers that enrolled with it stay."""
    with _authority(data, as_json) as authority:
        record = authority.tokens.revoke(prefix)
    print(json.dumps(_picture(record)) if as_json else f"revoked {record.name[:12]}")


@app.command("deny")
def deny_node(
    data: Data,
    node: Annotated[str, typer.Argument(help="The node's id in hex, as `status` shows it.")],
    as_json: AsJson = False,
) -> None:
    """Exclude a node for life; a running bootstrap tells the peers within seconds."""
    with _authority(data, as_json) as authority:
        try:
            node_id = NodeId(Place(bytes.fromhex(node)))
        except ValueError:
            node_id = NodeId(Place(b""))
        if len(node_id) != ID_BYTES:
            raise ConfigError("node", f"{node!r} is not a valid id; give {2 * ID_BYTES} hexadecimal digits")
        authority.deny(node_id, time.time())
        issued_s = authority.deny_list().issued_s
    print(json.dumps({"denied": node_id.hex(), "list_issued_s": issued_s}) if as_json else f"denied {node_id.hex()}")


@contextmanager
def _authority(data: Path, as_json: bool) -> Iterator[Authority]:
    from bootstrap.authority import Authority  # noqa: PLC0415

    with explained(as_json):
        authority = Authority(data)
        try:
            yield authority
        finally:
            authority.close()


def _picture(record: TokenRecord) -> dict[str, object]:
    return {
        "name": record.name[:12],
        "state": _state(record),
        "reusable": record.reusable,
        "uses": record.uses,
        "expires": None if record.expires_s is None else datetime.fromtimestamp(record.expires_s, UTC).isoformat(),
        "publish": list(record.rights.publish),
        "subscribe": list(record.rights.subscribe),
        "super_node": record.rights.may_lead,
        "note": record.note,
    }


def _state(record: TokenRecord) -> str:
    if record.revoked:
        return "revoked"
    if record.expires_s is not None and record.expires_s <= time.time():
        return "expired"
    return "used" if record.uses and not record.reusable else "valid"
