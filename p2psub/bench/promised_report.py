"""What `p2psub bench promised` showed, and how it compares with an earlier run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from p2psub.bench.plan import PromisedPlan
from p2psub.bench.report import BenchSettings, bench_settings_of
from p2psub.errors import ConfigError
from p2psub.model.content import Guarantee


class PromisedSettings(BenchSettings, frozen=True, kw_only=True):
    """Under which conditions promises were measured."""

    seconds: float
    topics: int
    subscriptions: int
    """That name topics; every topic is in one of them."""
    wildcards: int
    shard_owners: tuple[int, ...]
    """The peers that own the wildcard shards, if there are wildcards, by number; publishers have the first ones."""
    publishers: int
    rate_per_s: float
    """0 is as fast as it goes, and `at_once` the events in a call."""


class PromisedFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Per acknowledged event; sums are over all peers."""

    events_per_s: float
    """Acknowledged, from the first publish call to the last acknowledgement or hand-over."""
    cpu_us_per_event: float
    messages_per_event: float
    """Put on links; those that keep the ring alive are among them."""
    bytes_per_event: float
    """Before TLS."""
    rows_per_event: float
    """Written to stores or erased from them."""
    commits_per_s: float
    trace_bytes_per_event: float
    latency_p50_ms: float
    """From the publish call to the hand-over."""
    latency_p99_ms: float
    rss_mb_start: float
    """Of the peer that has most in memory at the end, both times."""
    rss_mb_end: float


class FigureRatios(msgspec.Struct, frozen=True):
    """Figures divided by those of an earlier run; and in which conditions, then and now, the runs differ."""

    ratios: dict[str, float]
    differing: dict[str, tuple[object, object]]


class PromisedReport(PromisedFigures, frozen=True, kw_only=True):
    """What promises cost in a ring of four, and whether they were kept."""

    acknowledged: int
    unacknowledged: int
    """Events that were refused, or not acknowledged in time: nothing was promised."""
    lost: int
    """Acknowledged events that their subscriber did not get."""
    duplicates: int
    """Hand-overs of events that had been handed over before."""
    settings: PromisedSettings
    rss_mb_by_minute: tuple[float, ...] = ()
    """Of that peer when measuring began, and after each whole minute; reports of older versions have none."""
    before: FigureRatios | None = None


CONDITIONS: Final = tuple(name for name in PromisedSettings.__struct_fields__ if name not in ("load_average", "python"))
"""What should be equal in two runs that are compared. Of a busy machine each report tells for itself."""


def promised_settings_of(
    plan: PromisedPlan, subscriptions: int, shard_owners: tuple[int, ...] = ()
) -> PromisedSettings:
    """The conditions of a run that begins now."""
    general = bench_settings_of(plan, Guarantee.EFFECTIVELY_ONCE, 1 << 16)
    return PromisedSettings(
        **msgspec.structs.asdict(general),
        seconds=plan.duration_s,
        topics=plan.topics,
        subscriptions=subscriptions,
        wildcards=plan.wildcards,
        shard_owners=shard_owners if plan.wildcards else (),
        publishers=plan.publishers,
        rate_per_s=plan.rate_per_s,
    )


def read_report(path: Path) -> PromisedReport:
    """What an earlier run printed; ConfigError if the file is not that."""
    advice = "name a file with the output of `p2psub bench promised --json`"
    try:
        return msgspec.json.decode(path.read_bytes(), type=PromisedReport)
    except OSError as error:
        raise ConfigError("before", f"{path} cannot be read ({error.strerror}): {advice}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError("before", f"{path} is not such a report ({error}): {advice}") from error


def compared(report: PromisedReport, earlier: PromisedReport) -> PromisedReport:
    """The same report beside an earlier one; a figure that was zero then has no ratio."""
    pairs = {name: (getattr(report, name), getattr(earlier, name)) for name in PromisedFigures.__struct_fields__}
    ratios = {name: round(now / then, 3) for name, (now, then) in pairs.items() if then}
    conditions = {name: (getattr(earlier.settings, name), getattr(report.settings, name)) for name in CONDITIONS}
    differing = {name: (then, now) for name, (then, now) in conditions.items() if then != now}
    return msgspec.structs.replace(report, before=FigureRatios(ratios, differing))
