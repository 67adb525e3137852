"""What the status pages show, as structs for both ends. Light to import: clients need no trio."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from p2psub.api.status import LinkStatus, PeerStatus, Trouble
from p2psub.api.values import id_to_text
from p2psub.matching.printer import print_filter
from p2psub.model.bids import PRICE_ONE
from p2psub.model.books import BookSums
from p2psub.model.content import Advertisement, Guarantee
from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId, Contact, Epoch
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.places import TableVersion
from p2psub.model.reasons import Reason
from p2psub.model.status import NodeStatus, Role


class ContactPage(msgspec.Struct, frozen=True):
    """A peer and where it can be dialled."""

    id: str
    address: str


class RingPage(msgspec.Struct, frozen=True, kw_only=True):
    """The peer's place in its cluster."""

    id: str
    cluster: ClusterId | None
    role: Role
    epoch: str | None
    super_node: ContactPage | None
    candidates: tuple[ContactPage, ...]
    predecessor: ContactPage | None
    successors: tuple[ContactPage, ...]
    table: str | None
    owners: tuple[str, ...]
    serves: bool


class ClusterPage(msgspec.Struct, frozen=True):
    """One cluster and its subcube."""

    cluster: ClusterId
    prefix: Prefix


class CubePage(msgspec.Struct, frozen=True, kw_only=True):
    """The hypercube as the peer knows it."""

    cluster: ClusterId | None
    prefix: Prefix | None
    filling: bool
    clusters: tuple[ClusterPage, ...]


class QueuesPage(msgspec.Struct, frozen=True, kw_only=True):
    """What waits where."""

    queued_messages: int
    queued_messages_max: int
    outbox: int
    undischarged: int
    kept: int
    links: tuple[LinkStatus, ...]


class BooksPage(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of event and subscription that ended, what they earned and what they cost."""

    on_time: int
    expired: dict[Reason, int]
    earned: float
    penalties: float
    earning: float


class SubscriptionBooksPage(msgspec.Struct, frozen=True, kw_only=True):
    """The books of one subscription at this peer: as its owner if events are promised, else as its subscriber."""

    subscription: str
    guarantee: Guarantee
    books: BooksPage


class StreamPage(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription that is held through the control API."""

    subscription: str
    filter: str
    status: VerdictStatus
    events: int
    missed: int


class SubscriptionsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Every subscription of the peer, and those held through the control API in detail."""

    active: tuple[str, ...]
    streams: tuple[StreamPage, ...]
    books: tuple[SubscriptionBooksPage, ...] = ()
    """Of any peer's subscriptions whose events ended here; those that were booked last."""


class AdvertisementPage(msgspec.Struct, frozen=True, kw_only=True):
    """One advertisement."""

    advertisement: str
    cluster: ClusterId
    rate: float
    filter: str


class AdvertisementsPage(msgspec.Struct, frozen=True, kw_only=True):
    """What this peer advertises; and what any peer does, as far as this one knows: super-nodes and candidates do."""

    own: tuple[AdvertisementPage, ...]
    known: tuple[AdvertisementPage, ...]


class ReadyPage(msgspec.Struct, frozen=True):
    """That the peer is ready, and what is wrong with it nevertheless."""

    ready: Literal[True] = True
    troubles: dict[Trouble, str] = {}


class StatusPage(msgspec.Struct, frozen=True, kw_only=True):
    """Everything at once."""

    name: str
    address: str
    overlay: str
    stage: str
    missing: str | None
    ready: bool
    uptime_s: float
    incarnation: int
    certificate_days_left: float
    rank: int | None
    score: float
    ring: RingPage
    cube: CubePage
    queues: QueuesPage
    subscriptions: tuple[str, ...]
    books: BooksPage
    changes_digest: str
    counters: dict[str, int]
    recorded: dict[str, int] = {}
    """By kind and reason, with a space between."""
    capability: dict[str, float] = {}
    deny_list_issued_s: int = 0
    troubles: dict[Trouble, str] = {}


def ring_page(node: NodeStatus) -> RingPage:
    """Place, role, neighbours and the table of owners."""
    return RingPage(
        id=node.id.hex(),
        cluster=node.cluster,
        role=node.role,
        epoch=_epoch(node.epoch),
        super_node=_contact(node.super_node),
        candidates=_contacts(node.candidates),
        predecessor=_contact(node.predecessor),
        successors=_contacts(node.successors),
        table=_table(node.table),
        owners=tuple(owner.hex() for owner in node.owners),
        serves=node.serves,
    )


def cube_page(node: NodeStatus) -> CubePage:
    """The clusters and their prefixes."""
    clusters = tuple(ClusterPage(cluster, prefix) for cluster, prefix in node.clusters)
    return CubePage(cluster=node.cluster, prefix=node.prefix, filling=node.filling, clusters=clusters)


def queues_page(status: PeerStatus) -> QueuesPage:
    """Messages and events that wait."""
    node = status.node
    return QueuesPage(
        queued_messages=node.queued_messages,
        queued_messages_max=node.queued_messages_max,
        outbox=node.outbox,
        undischarged=node.undischarged,
        kept=len(node.kept),
        links=status.links,
    )


def subscriptions_page(node: NodeStatus, streams: Iterable[StreamPage]) -> SubscriptionsPage:
    """Subscriptions of the peer, and the books that it keeps of anybody's."""
    return SubscriptionsPage(
        active=tuple(map(id_to_text, node.active_subscriptions)),
        streams=tuple(streams),
        books=tuple(
            SubscriptionBooksPage(
                subscription=id_to_text(one.subscription), guarantee=one.guarantee, books=_books_page(one.sums)
            )
            for one in node.subscription_books
        ),
    )


def _books_page(sums: BookSums) -> BooksPage:
    return BooksPage(
        on_time=sums.on_time,
        expired=dict(sorted(sums.expired.items())),
        earned=sums.earned / PRICE_ONE,
        penalties=sums.penalties / PRICE_ONE,
        earning=sums.earning / PRICE_ONE,
    )


def advertisements_page(node: NodeStatus) -> AdvertisementsPage:
    """Advertisements of the peer, and of the overlay."""
    return AdvertisementsPage(
        own=tuple(map(_advertisement, node.active_advertisements)), known=tuple(map(_advertisement, node.advertised))
    )


def _advertisement(record: Advertisement) -> AdvertisementPage:
    return AdvertisementPage(
        advertisement=id_to_text(record.id),
        cluster=record.cluster,
        rate=record.rate,
        filter=print_filter(record.filter),
    )


def status_page(status: PeerStatus) -> StatusPage:
    """The peer, its node and its links."""
    node = status.node
    return StatusPage(
        name=status.name,
        address=status.address,
        overlay=status.overlay,
        stage=status.stage,
        missing=status.missing,
        ready=status.ready,
        uptime_s=status.uptime_s,
        incarnation=node.incarnation,
        certificate_days_left=status.certificate_days_left,
        rank=status.rank,
        score=status.score,
        ring=ring_page(node),
        cube=cube_page(node),
        queues=queues_page(status),
        subscriptions=tuple(map(id_to_text, node.active_subscriptions)),
        books=_books_page(node.promised_books.plus(node.at_most_once_books)),
        changes_digest=node.changes_digest.hex(),
        counters=dict(sorted(status.counters.items())),
        recorded={" ".join(what).strip(): count for what, count in sorted(status.recorded.items())},
        capability={} if status.capability is None else msgspec.structs.asdict(status.capability),
        deny_list_issued_s=status.deny_list_issued_s,
        troubles=status.troubles,
    )


def _contact(contact: Contact | None) -> ContactPage | None:
    return None if contact is None else ContactPage(contact.id.hex(), contact.address)


def _contacts(contacts: tuple[Contact, ...]) -> tuple[ContactPage, ...]:
    return tuple(ContactPage(contact.id.hex(), contact.address) for contact in contacts)


def _epoch(epoch: Epoch | None) -> str | None:
    return None if epoch is None else f"{epoch.counter}.{epoch.node.hex()}.{epoch.incarnation}"


def _table(version: TableVersion | None) -> str | None:
    return None if version is None else f"{_epoch(version.epoch)}/{version.n}"
