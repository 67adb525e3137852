"""`/metrics`: a peer's counters and gauges, as Prometheus reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from p2psub.api.status import PeerStatus, Trouble
from p2psub.model.bids import PRICE_ONE
from p2psub.model.status import Role


class PeerMetrics(Collector):
    """Asks the peer at every scrape; keeps nothing itself."""

    def __init__(self, status: Callable[[], PeerStatus]) -> None:
        self._status = status
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def describe(self) -> list[Metric]:
        """Nothing beforehand: what a peer counts is known when it has counted."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All there is, at this instant."""
        status = self._status()
        for name, count in sorted(status.counters.items()):
            yield CounterMetricFamily(metric_name(name), name.replace("_", " "), value=count)
        recorded = CounterMetricFamily(
            "p2psub_recorded", "what happened, as the trace has it; drops with their reason", labels=["kind", "reason"]
        )
        for (kind, reason), count in sorted(status.recorded.items()):
            recorded.add_metric([kind.value, reason], count)
        yield recorded
        yield from _books(status)
        yield from _gauges(status)
        role = GaugeMetricFamily("p2psub_role", "1 for the role that the peer has", labels=["role"])
        for one in Role:
            role.add_metric([one.value], float(one is status.node.role))
        yield role
        if status.capability is not None:
            parts = GaugeMetricFamily("p2psub_capability", "what the score is made of, 0 to 1", labels=["part"])
            for name, value in msgspec.structs.asdict(status.capability).items():
                parts.add_metric([name], value)
            yield parts
        trouble = GaugeMetricFamily("p2psub_trouble", "1 for a part that is in trouble", labels=["part"])
        for part in Trouble:
            trouble.add_metric([part.value], float(part in status.troubles))
        yield trouble

    def answer(self, accept: str) -> tuple[bytes, str]:
        """The text of a scrape and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type


def metric_name(name: str) -> str:
    """The name of a counter, without the `_total` that is appended on the way out."""
    return "p2psub_" + re.sub(r"[^a-zA-Z0-9_]", "_", name.removesuffix("_total"))


def _books(status: PeerStatus) -> Iterator[Metric]:
    """What the pairs that ended here earned and cost, in decimals."""
    sums = status.node.promised_books.plus(status.node.at_most_once_books)
    for name, text, value in (
        ("on_time", "pairs of event and subscription that were handed over", sums.on_time),
        ("earned", "prices of the pairs that were handed over", sums.earned / PRICE_ONE),
        ("penalties", "penalties of the pairs that were not", sums.penalties / PRICE_ONE),
    ):
        yield CounterMetricFamily(f"p2psub_{name}", text, value=value)
    expired = CounterMetricFamily("p2psub_expired", "pairs that were owed and not handed over", labels=["reason"])
    for reason, pairs in sorted(sums.expired.items()):
        expired.add_metric([reason.value], pairs)
    yield expired


def _gauges(status: PeerStatus) -> Iterator[Metric]:
    node = status.node
    for name, text, value in (
        ("links", "open links", sum(link.up for link in status.links)),
        ("queued_messages", "messages that wait for a link", node.queued_messages),
        ("queued_messages_max", "most messages that have waited for a link", node.queued_messages_max),
        ("outbox", "events that no owner has acknowledged yet", node.outbox),
        ("undischarged", "events still owed to subscribers", node.undischarged),
        ("active_subscriptions", "subscriptions of this peer", len(node.active_subscriptions)),
        ("clusters", "clusters in the directory", len(node.clusters)),
        ("ready", "1 if the peer stands in its ring", status.ready),
        ("serves", "1 if the peer holds a lease on an arc", node.serves),
        ("uptime_seconds", "time since the start", status.uptime_s),
        ("certificate_days_left", "until the certificate ends", status.certificate_days_left),
        ("score", "capability as a candidate", status.score),
    ):
        yield GaugeMetricFamily(f"p2psub_{name}", text, value=float(value))
