"""What a benchmark showed, for people; with what was compared with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from p2psub.bench.report import BenchSettings, FilteredReport, LinkReport

Rows = list[tuple[str, str]]


def link_table(report: LinkReport) -> Table:
    """The report of `bench link`."""
    rows = [*_rates(report), *_latencies(report), *_costs(report), ("lost", f"{report.lost:,}")]
    return _table("one publisher to one subscriber", rows, report.settings)


def _rates(report: LinkReport) -> Rows:
    promised = f"{report.effectively_once_events_per_s:,.0f}/s in a ring of 4"
    return [
        ("events", f"{report.events_per_s:,.0f}/s, publish_many to batches()"),
        ("bare stream", f"{report.bare_events_per_s:,.0f}/s, the same events over trio's TLS stream in 64 KiB writes"),
        ("ratio", f"{report.ratio:.3f} of the bare stream"),
        ("publish one by one", f"{report.publish_one_by_one_events_per_s:,.0f}/s, publish to batches()"),
        ("take one by one", f"{report.take_one_by_one_events_per_s:,.0f}/s, publish_many to async for"),
        ("effectively once", f"{promised}, {report.effectively_once_cpu_us_per_event:,.0f} µs CPU of all per event"),
    ]


def _latencies(report: LinkReport) -> Rows:
    product = f"p50 {report.latency_p50_us:,.0f} µs, p99 {report.latency_p99_us:,.0f} µs"
    bare = f"p50 {report.bare_latency_p50_us:,.0f} µs, one frame there and back over the bare stream"
    return [
        ("latency", f"{product}, publish call to hand-over, at 200 events/s"),
        ("bare round trip", f"{bare}, at the same rate"),
        ("latency ratio", f"{report.latency_ratio:.2f} of the bare round trip"),
    ]


def _costs(report: LinkReport) -> Rows:
    publisher, subscriber = report.publisher_cpu_us_per_event, report.subscriber_cpu_us_per_event
    sender, receiver = report.bare_sender_cpu_us_per_event, report.bare_receiver_cpu_us_per_event
    bare = f"bare: sender {sender:.1f} µs, receiver {receiver:.1f} µs"
    return [
        ("CPU per event", f"publisher {publisher:.1f} µs, subscriber {subscriber:.1f} µs; {bare}"),
        ("bytes per event", f"{report.bytes_per_event:,.0f} on the link, before TLS"),
    ]


def filtered_table(report: FilteredReport) -> Table:
    """The report of `bench filtered`."""
    publisher = f"{report.publisher_cpu_us_per_event:.1f} µs of the publisher"
    rows = [
        ("events", f"{report.events_per_s:,.0f}/s published, and handed to their subscribers"),
        ("CPU per event", f"{report.cpu_us_per_event:.1f} µs of all peers, {publisher}"),
        ("bytes per event", f"{report.bytes_per_event:,.0f} on all links, before TLS"),
        ("filter", report.filter),
        ("published", f"{report.published:,}"),
        ("delivered", f"{report.delivered:,}"),
        ("lost", f"{report.lost:,}"),
    ]
    return _table(f"one publisher to {report.subscribers} subscribers that want 1 % each", rows, report.settings)


def _table(title: str, rows: Rows, settings: BenchSettings) -> Table:
    table = Table(title=title, show_header=False)
    for name, value in rows:
        table.add_row(name, value)
    table.add_section()
    for name, value in _settings_rows(settings):
        table.add_row(name, value)
    return table


def _settings_rows(settings: BenchSettings) -> Rows:
    traces = f"on, {settings.at_most_once_traced} at_most_once events one by one" if settings.traces else "off"
    burst = f"{settings.events:,} events of {settings.event_bytes} bytes, {settings.at_once:,} in a call"
    python = f"Python {settings.python}, {'compiled' if settings.compiled else 'not compiled'}"
    machine = f"{settings.cpus} CPUs, load {settings.load_average:.1f} at the start, {python}"
    rows = [
        ("guarantee", f"{settings.guarantee}; signatures: {settings.signatures}; traces: {traces}"),
        ("topics", "each peer owns as many" if settings.owner == "each" else f"the {settings.owner} owns all"),
        ("a round", f"{burst}; figures are the {settings.figures_are} ({settings.rounds}), after one to warm up"),
        ("machine", f"{machine}; every peer is a process, TLS 1.3 on loopback"),
    ]
    if settings.is_profiled:
        rows.append(("profiled", "yes: everything was slower than it is"))
    return rows
