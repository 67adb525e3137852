"""Status pages as plain text, for people who look with curl."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from p2psub.api.pages import (
    AdvertisementsPage,
    BooksPage,
    ContactPage,
    CubePage,
    QueuesPage,
    RingPage,
    SubscriptionsPage,
)
from p2psub.model.status import LinkQueueStatus

Row = Sequence[object]


def table(heading: Row, rows: Iterable[Row]) -> str:
    """Rows below their heading, in columns as wide as they need be; what is None is shown as a dash."""
    cells = [[_cell(cell) for cell in row] for row in (heading, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "".join(line.rstrip() + "\n" for line in lines)


def _cell(cell: object) -> str:
    return "-" if cell is None else "".join(c if c.isprintable() else "?" for c in str(cell))


def ring_text(page: RingPage) -> str:
    """Who stands where in the cluster."""
    facts = table(
        ("cluster", "role", "id", "serves", "epoch", "table"),
        [(page.cluster, page.role, page.id, page.serves, page.epoch, page.table)],
    )
    return f"{facts}\n{table(('place', 'id', 'address'), ring_rows(page))}"


def ring_rows(page: RingPage) -> list[Row]:
    """The peers that matter to this one, each with what it is to it."""
    rows: list[Row] = [_contact_row("super-node", page.super_node)]
    rows += [_contact_row(f"candidate {rank}", contact) for rank, contact in enumerate(page.candidates, 1)]
    rows.append(_contact_row("predecessor", page.predecessor))
    rows += [_contact_row(f"successor {rank}", contact) for rank, contact in enumerate(page.successors, 1)]
    rows += [(f"owner {number}", owner, None) for number, owner in enumerate(page.owners, 1)]
    return rows


def _contact_row(place: str, contact: ContactPage | None) -> Row:
    return (place, None, None) if contact is None else (place, contact.id, contact.address)


def cube_text(page: CubePage) -> str:
    """Clusters and prefixes; the peer's own is marked."""
    return table(("cluster", "prefix", ""), cube_rows(page))


def cube_rows(page: CubePage) -> list[Row]:
    """The clusters by prefix; the empty prefix is the whole cube."""
    filling = "ours, filling" if page.filling else "ours"
    clusters = sorted(page.clusters, key=lambda cluster: cluster.prefix)
    return [(c.cluster, c.prefix or "(whole cube)", filling if c.cluster == page.cluster else "") for c in clusters]


def queues_text(page: QueuesPage) -> str:
    """What waits in the node, and on each link."""
    facts = table(
        ("queued", "queued at most", "outbox", "undischarged", "kept"),
        [(page.queued_messages, page.queued_messages_max, page.outbox, page.undischarged, page.kept)],
    )
    headings = ("link", "address", "state", "bytes in", "bytes out", "queued", "by", "committed", "us/KB")
    links = [(*row, *_pace_cells(link.queue)) for row, link in zip(link_rows(page), page.links, strict=True)]
    return f"{facts}\n{table(headings, links)}"


def link_rows(page: QueuesPage) -> list[Row]:
    """The links."""
    return [
        (
            link.peer,
            link.address,
            "up" if link.up else "down",
            link.bytes_in,
            link.bytes_out,
            None if link.queue is None else link.queue.waiting,
        )
        for link in page.links
    ]


def _pace_cells(queue: LinkQueueStatus | None) -> Row:
    """By which discipline it is ordered, how much is under way, and what a KB takes where that is known."""
    if queue is None:
        return (None, None, None)
    us_per_kb = None if queue.us_per_kb is None else round(queue.us_per_kb)
    return (queue.discipline, f"{queue.committed_bytes} of {queue.window_bytes}", us_per_kb)


def subscriptions_text(page: SubscriptionsPage) -> str:
    """Every subscription; those through the control API with filter and counts."""
    held = {stream.subscription: stream for stream in page.streams}
    rows = [
        (name, stream.status, stream.events, stream.missed, stream.filter)
        if (stream := held.get(name))
        else (name, None, None, None, None)
        for name in dict.fromkeys([*held, *page.active])
    ]
    text = table(("subscription", "status", "events", "missed", "filter"), rows)
    heading = ("books of", "guarantee", "on time", "expired", "earned", "penalties")
    return f"{text}\n{table(heading, book_rows(page))}" if page.books else text


def book_rows(page: SubscriptionsPage) -> list[Row]:
    """What the events of each subscription earned and cost at this peer."""
    return [
        (one.subscription, one.guarantee, b.on_time, expired_text(b), f"{b.earned:.2f}", f"{b.penalties:.2f}")
        for one in page.books
        for b in [one.books]
    ]


def expired_text(books: BooksPage) -> str:
    """How many pairs were not handed over, and why."""
    by_reason = ", ".join(f"{reason} {pairs}" for reason, pairs in books.expired.items())
    return f"{sum(books.expired.values())} ({by_reason})" if by_reason else "0"


def advertisements_text(page: AdvertisementsPage) -> str:
    """The peer's own first."""
    return table(("advertisement", "cluster", "rate", "", "filter"), advertisement_rows(page))


def advertisement_rows(page: AdvertisementsPage) -> list[Row]:
    """Every advertisement once."""
    own = {offer.advertisement for offer in page.own}
    offers = {offer.advertisement: offer for offer in (*page.own, *page.known)}
    return [
        (name, offer.cluster, offer.rate, "ours" if name in own else "", offer.filter) for name, offer in offers.items()
    ]
