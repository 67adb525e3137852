"""What a benchmark showed, for people; with what was compared with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from p2psub.bench.earning_report import EarningReport
    from p2psub.bench.promised_report import PromisedReport, PromisedSettings
    from p2psub.bench.queue_report import QueueReport
    from p2psub.bench.report import BenchSettings, BurstSettings, FilteredReport, LinkReport
    from p2psub.bench.stalled import StalledReport
    from p2psub.bench.store_report import StoreReport

Rows = list[tuple[str, str]]


def link_table(report: LinkReport) -> Table:
    """The report of `bench link`."""
    rows = [*_rates(report), *_latencies(report), *_costs(report), ("lost", f"{report.lost:,}")]
    return _table("one publisher to one subscriber", rows, _burst_rows(report.settings))


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
    title = f"one publisher to {report.subscribers} subscribers that want 1 % each"
    return _table(title, rows, _burst_rows(report.settings))


def promised_table(report: PromisedReport) -> Table:
    """The report of `bench promised`; with ratios, if it was compared."""
    rows = [
        (name, f"{value}{_ratio(report, figure)}")
        for name, figure, value in (
            ("events", "events_per_s", f"{report.events_per_s:,.0f}/s acknowledged, and handed to their subscribers"),
            ("CPU per event", "cpu_us_per_event", f"{report.cpu_us_per_event:,.0f} µs of all peers"),
            ("messages per event", "messages_per_event", f"{report.messages_per_event:.2f} on all links"),
            ("bytes per event", "bytes_per_event", f"{report.bytes_per_event:,.0f} on all links, before TLS"),
            ("rows per event", "rows_per_event", f"{report.rows_per_event:.2f} written to stores or erased"),
            ("commits", "commits_per_s", f"{report.commits_per_s:,.0f}/s of all stores"),
            ("trace per event", "trace_bytes_per_event", f"{report.trace_bytes_per_event:,.0f} bytes of all peers"),
            ("latency p50", "latency_p50_ms", f"{report.latency_p50_ms:,.1f} ms, publish call to hand-over"),
            ("latency p99", "latency_p99_ms", f"{report.latency_p99_ms:,.1f} ms"),
            ("memory at the start", "rss_mb_start", f"{report.rss_mb_start:,.0f} MB of the largest peer"),
            ("memory at the end", "rss_mb_end", f"{report.rss_mb_end:,.0f} MB of it"),
        )
    ]
    rows += [
        ("acknowledged", f"{report.acknowledged:,}; refused or not in time: {report.unacknowledged:,}"),
        ("lost", f"{report.lost:,}"),
        ("duplicates", f"{report.duplicates:,}"),
        *_comparison_rows(report),
    ]
    return _table("effectively_once in a ring of 4", rows, _promised_rows(report.settings))


def stalled_table(report: StalledReport) -> Table:
    """The report of `bench stalled`."""
    settings, percent, before = report.settings, report.owner_cpu_percent, report.owner_cpu_percent_before
    latency = f"p50 {report.latency_p50_ms:,.1f} ms, p99 {report.latency_p99_ms:,.1f} ms"
    latency_before = f"p50 {report.latency_p50_ms_before:,.1f} ms, p99 {report.latency_p99_ms_before:,.1f} ms"
    rows = [
        ("owed", f"{report.owed:,} events to a subscriber that takes nothing"),
        ("the owner meanwhile", f"{percent:.1f} % of a core, {report.owner_rss_mb:,.0f} MB; before {before:.1f} %"),
        ("the other subscriber", f"{latency}; before {latency_before}"),
        ("latency p99 ratio", f"{report.latency_p99_ratio:.2f}"),
        ("when it takes again", f"all of it in {report.drain_s:,.1f} s, {report.drain_events_per_s:,.0f}/s"),
        ("lost", f"{report.lost:,}"),
        ("duplicates", f"{report.duplicates:,}"),
    ]
    conditions = [
        ("silence", f"{settings.idle_s:g} s; a channel takes {settings.window:,} events"),
        ("events", f"{settings.event_bytes} bytes; latency is measured at {settings.rate_per_s:g}/s"),
    ]
    traces = "on" if settings.traces else "off"
    return _table("a stalled subscriber in a ring of 4", rows, _settings_rows(settings, traces, conditions))


def store_table(report: StoreReport) -> Table:
    """The report of `bench store`."""
    rows = [
        (
            f"publishers: {publishers:,}",
            f"{rate.events_per_s:,.0f}/s durable; bare loop {rate.bare_events_per_s:,.0f}/s; ratio {rate.ratio:.2f}",
        )
        for publishers, rate in report.publishers.items()
    ]
    settings = report.settings
    full = f"{settings.open_events:,} events in packs of {settings.open_events_per_pack}"
    rows += [
        ("a full store", f"{full}, {report.size_mb:,.0f} MB; {report.erased_size_mb:,.0f} MB when all is erased"),
        ("open it", f"{report.open_s:.2f} s, {report.open_rss_mb:,.0f} MB of memory"),
        ("read it", f"{report.read_us_per_event:.2f} µs per event"),
        ("erase it", f"{report.erase_us_per_event:.2f} µs per event"),
        ("longest pause", f"{report.pause_ms_max:.1f} ms; {report.idle_pause_ms_max:.1f} ms while it did nothing"),
    ]
    burst = f"{settings.events:,} events, {settings.at_once:,} in a step, bodies of {settings.body_bytes} bytes"
    python = f"Python {settings.python}, {'compiled' if settings.compiled else 'not compiled'}"
    conditions = [
        ("a round", f"{burst}; figures are the medians of {settings.rounds}"),
        ("machine", f"{settings.cpus} CPUs, load {settings.load_average:.1f} at the start, {python}"),
    ]
    return _table("the store, beside a bare SQLite loop", rows, conditions)


def queue_table(report: QueueReport) -> Table:
    """The report of `bench queue`."""
    table = Table(title="CPU µs for each message that leaves")
    for heading in ("waiting", "subscriptions each", "straight", "vectorised", "queue", "ratio", "same choice"):
        table.add_column(heading, justify="right")
    for rate in report.results:
        table.add_row(
            f"{rate.length:,}",
            f"{rate.subscriptions:,}",
            f"{rate.straight_us:,.0f}",
            f"{rate.vectorised_us:,.0f}",
            f"{rate.queue_us:,.0f}",
            f"{rate.ratio:,.1f}",
            f"{'yes' if rate.same_choice else 'NO'}, of {rate.scanned:,}",
        )
    settings = report.settings
    python = f"Python {settings.python}, {'compiled' if settings.compiled else 'not compiled'}"
    machine = f"{settings.cpus} CPUs, load {settings.load_average:.1f} at the start, {python}"
    table.caption = f"{settings.pops:,} messages left each; seed {settings.seed}; {machine}"
    return table


def earning_table(report: EarningReport) -> Table:
    """The report of `bench earning`."""
    settings = report.settings
    line = f"{settings.link_bytes_per_s:,.0f} bytes/s"
    table = Table(title=f"{settings.clusters} clusters on lines of {line}, offered {settings.load:g} times that")
    for heading in (
        "policy", "seed", "pairs", "on time", "expired", "earning", "line busy", "under way p99", "heartbeat p99",
        "copies", "violations",
    ):  # fmt: skip
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for one in report.results:
        table.add_row(
            one.policy,
            str(one.seed),
            f"{one.matched:,}",
            f"{one.on_time:,}",
            f"{one.expired:,}",
            f"{one.earning:,.0f}",
            f"{one.link_busy_share:.1%}",
            f"{one.committed_ms_p99:,.0f} ms",
            f"{one.heartbeat_ms_p99:,.0f} ms",
            f"{one.content_copies:.3f}",
            f"{one.violations:,}",
        )
    times = [
        f"mtep / {ratio.policy}: earning {_times(ratio.earning_mean)}, on time {_times(ratio.success_mean)}"
        for ratio in report.ratios
    ]
    python = f"Python {settings.python}, {'compiled' if settings.compiled else 'not compiled'}"
    machine = f"{settings.cpus} CPUs, load {settings.load_average:.1f} at the start, {python}"
    table.caption = "; ".join([*times, f"{settings.rate_per_s:g} events/s for {settings.seconds:g} s", machine])
    return table


def _times(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.2f}"


def _ratio(report: PromisedReport, figure: str) -> str:
    ratio = None if report.before is None else report.before.ratios.get(figure)
    return "" if ratio is None else f"; {ratio:.2f} of before"


def _comparison_rows(report: PromisedReport) -> Rows:
    if report.before is None or not report.before.differing:
        return []
    differing = [f"{name} was {then}, is {now}" for name, (then, now) in report.before.differing.items()]
    return [("not the same run", "; ".join(differing))]


def _table(title: str, rows: Rows, settings: Rows) -> Table:
    table = Table(title=title, show_header=False)
    for name, value in rows:
        table.add_row(name, value)
    table.add_section()
    for name, value in settings:
        table.add_row(name, value)
    return table


def _burst_rows(settings: BurstSettings) -> Rows:
    traces = f"on, {settings.at_most_once_traced} at_most_once events one by one" if settings.traces else "off"
    burst = f"{settings.events:,} events of {settings.event_bytes} bytes, {settings.at_once:,} in a call"
    rows = [
        ("topics", "each peer owns as many" if settings.owner == "each" else f"the {settings.owner} owns all"),
        ("a round", f"{burst}; figures are the {settings.figures_are} ({settings.rounds}), after one to warm up"),
    ]
    return _settings_rows(settings, traces, rows)


def _promised_rows(settings: PromisedSettings) -> Rows:
    subscribers = f"{settings.subscriptions:,} subscriptions, of which each event matches one"
    calls = f"one by one at {settings.rate_per_s:,.0f}/s" if settings.rate_per_s else f"{settings.at_once:,} in a call"
    rows = [
        ("topics", f"{settings.topics:,}, {subscribers}; wildcards that match nothing: {settings.wildcards:,}"),
        (
            "events",
            f"{settings.event_bytes} bytes, {calls}, for {settings.seconds:g} s; publishers: {settings.publishers}",
        ),
    ]
    return _settings_rows(settings, "on" if settings.traces else "off", rows)


def _settings_rows(settings: BenchSettings, traces: str, of_this_kind: Rows) -> Rows:
    """The conditions, with those that only one kind of benchmark has."""
    python = f"Python {settings.python}, {'compiled' if settings.compiled else 'not compiled'}"
    machine = f"{settings.cpus} CPUs, load {settings.load_average:.1f} at the start, {python}"
    rows = [
        ("guarantee", f"{settings.guarantee}; signatures: {settings.signatures}; traces: {traces}"),
        *of_this_kind,
        ("machine", f"{machine}; every peer is a process, TLS 1.3 on loopback"),
    ]
    if settings.is_profiled:
        rows.append(("profiled", "yes: everything was slower than it is"))
    return rows
