"""A run can be kept and compared with a later one; the table says so, and says when they were not the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from p2psub.bench.plan import PromisedPlan
from p2psub.bench.promised_report import (
    PromisedFigures,
    PromisedReport,
    compared,
    promised_settings_of,
    read_report,
)
from p2psub.cli.bench_tables import promised_table
from p2psub.errors import ConfigError
from tests.unit.benchmarks.test_report import text_of


def promised_report(plan: PromisedPlan | None = None, **changes: Any) -> PromisedReport:
    """A report with some figures."""
    fields: dict[str, Any] = dict.fromkeys(PromisedFigures.__struct_fields__, 8.0)
    fields |= {"acknowledged": 100, "unacknowledged": 0, "lost": 0, "duplicates": 0}
    fields |= {"settings": promised_settings_of(plan or PromisedPlan(), 4)}
    return PromisedReport(**(fields | changes))


def test_a_report_survives_its_file(tmp_path: Path) -> None:
    """So that a later run can be compared with it."""
    report, path = promised_report(), tmp_path / "before.json"
    path.write_bytes(msgspec.json.encode(report))
    assert read_report(path) == report
    again = compared(report, report)
    path.write_bytes(msgspec.json.encode(again))
    assert msgspec.structs.replace(read_report(path), before=None) == report


@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"events_per_s": 1.0}', b"\xff"])
def test_a_file_that_is_not_a_report_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """With what to give instead."""
    path = tmp_path / "before.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match="bench promised --json"):
        read_report(path)


def test_figures_are_divided_by_those_of_the_earlier_run() -> None:
    """What was zero then has no ratio."""
    report = compared(promised_report(events_per_s=12.0), promised_report(rows_per_event=0.0))
    assert report.before is not None
    assert (report.before.ratios["events_per_s"], report.before.ratios["bytes_per_event"]) == (1.5, 1.0)
    assert "rows_per_event" not in report.before.ratios
    assert report.before.differing == {}
    shown = text_of(promised_table(report))
    assert "12/s acknowledged, and handed to their subscribers; 1.50 of before" in shown
    assert "not the same run" not in shown


def test_runs_under_other_conditions_are_marked() -> None:
    """Their ratios tell of the conditions too."""
    shown = text_of(promised_table(compared(promised_report(PromisedPlan(topics=9)), promised_report())))
    assert "topics was 4, is 9" in shown


def test_who_owns_the_shards_matters_only_with_wildcards() -> None:
    """Without them no owner is asked."""
    assert promised_settings_of(PromisedPlan(), 4, (0, 2)).shard_owners == ()
    assert promised_settings_of(PromisedPlan(wildcards=1), 4, (0, 2)).shard_owners == (0, 2)


def test_the_table_says_what_was_measured() -> None:
    """Costs, promises, and conditions; without an earlier run there is no word of it."""
    shown = text_of(promised_table(promised_report(PromisedPlan(rate_per_s=200.0, wildcards=8), lost=3)))
    assert "effectively_once; signatures: one for up to 256 events" in shown
    assert "206 bytes, one by one at 200/s, for 60 s; publishers: 1" in shown
    assert "4, 4 subscriptions, of which each event matches one; wildcards that match nothing: 8" in shown
    assert "of before" not in shown
    assert "not compiled" in shown
