"""`p2psub status`, `ring` and `cube`: how a running peer is, and what it sees."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from p2psub.api.pages import CubePage, QueuesPage, RingPage, StatusPage
from p2psub.api.tables import cube_rows, expired_text, link_rows, ring_rows
from p2psub.cli.client import ControlClient
from p2psub.cli.endpoint import find_peer
from p2psub.cli.exits import explained
from p2psub.cli.options import AsJson, Data

CERTIFICATE_WARN_DAYS = 2.0
"""A certificate is renewed daily; one this close to its end was not (docs/protocol/identity.md)."""

Row = Sequence[object]


def status(data: Data = None, as_json: AsJson = False) -> None:
    """How the peer is: stage, role, cluster, queues, links."""
    with explained(as_json), ControlClient(find_peer(data)) as client:
        page = client.status()
        _show(page, [status_table(page), links_table(page.queues)], as_json)


def ring(data: Data = None, as_json: AsJson = False) -> None:
    """The peer's ring: super-node, candidates, predecessor, successors, owners of keys."""
    with explained(as_json), ControlClient(find_peer(data)) as client:
        page = client.ring()
        _show(page, [ring_table(page)], as_json)


def cube(data: Data = None, as_json: AsJson = False) -> None:
    """The hypercube: every cluster the peer knows, and its prefix of label bits."""
    with explained(as_json), ControlClient(find_peer(data)) as client:
        page = client.cube()
        _show(page, [cube_table(page)], as_json)


def _show(page: msgspec.Struct, tables: Iterable[Table], as_json: bool) -> None:
    if as_json:
        print(json.dumps(msgspec.to_builtins(page), ensure_ascii=False))
        return
    for one in tables:
        Console().print(one)


def status_table(page: StatusPage) -> Table:
    """The facts about a peer, one a line."""
    days = page.certificate_days_left
    is_late = days < CERTIFICATE_WARN_DAYS
    return plain_table(
        f"peer {page.name}",
        ("", ""),
        [
            ("stage", page.stage),
            *([("missing", page.missing)] if page.missing else []),
            ("ready", "yes" if page.ready else "no"),
            *((f"trouble: {part}", text) for part, text in page.troubles.items()),
            ("id", page.ring.id),
            ("address", page.address),
            ("overlay", page.overlay),
            ("cluster", page.ring.cluster),
            ("role", page.ring.role.value),
            ("rank as candidate", page.rank),
            ("score", score_text(page)),
            ("serves keys", "yes" if page.ring.serves else "no"),
            ("prefix in the cube", "(whole cube)" if page.cube.prefix == "" else page.cube.prefix),
            ("clusters known", len(page.cube.clusters)),
            ("subscriptions", len(page.subscriptions)),
            ("outbox", page.queues.outbox),
            ("undischarged", page.queues.undischarged),
            ("pairs on time", page.books.on_time),
            ("pairs expired", expired_text(page.books)),
            ("earned", f"{page.books.earned:.2f}, less penalties of {page.books.penalties:.2f}"),
            ("queued messages", f"{page.queues.queued_messages} (at most {page.queues.queued_messages_max})"),
            ("links", sum(link.up for link in page.queues.links)),
            ("up for", f"{page.uptime_s:.0f} s, start {page.incarnation}"),
            *([("deny list of", _date(page.deny_list_issued_s))] if page.deny_list_issued_s else []),
            ("certificate", f"{days:.1f} days left" + (": see that the bootstrap runs" if is_late else "")),
        ],
    )


def score_text(page: StatusPage) -> str:
    """A score and its parts; without a right to lead there is none."""
    parts = ", ".join(f"{name} {value:.2f}" for name, value in page.capability.items())
    return f"{page.score:.3f} = {parts}" if parts and page.score >= 0 else f"{page.score:.3f}"


def _date(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def queues_table(page: QueuesPage) -> Table:
    """What waits in the node."""
    rows = [
        ("queued messages", page.queued_messages),
        ("queued messages at most", page.queued_messages_max),
        ("outbox", page.outbox),
        ("undischarged", page.undischarged),
        ("kept", page.kept),
    ]
    return plain_table("queues", ("", ""), rows)


def links_table(page: QueuesPage) -> Table:
    """The links of a peer."""
    return plain_table("links", ("peer", "address", "state", "bytes in", "bytes out", "queued"), link_rows(page))


def ring_table(page: RingPage) -> Table:
    """Who stands where in a cluster."""
    return plain_table(f"ring of cluster {page.cluster or '-'}", ("place", "id", "address"), ring_rows(page))


def cube_table(page: CubePage) -> Table:
    """Clusters and prefixes."""
    return plain_table("hypercube", ("cluster", "prefix", ""), cube_rows(page))


def plain_table(title: str, heading: Sequence[str], rows: Iterable[Row]) -> Table:
    """A rich table of plain text: names that others chose must not be read as markup."""
    table = Table(title=Text(title), show_header=any(heading))
    for name in heading:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text("-" if cell is None else str(cell)) for cell in row))
    return table
