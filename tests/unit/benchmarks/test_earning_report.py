"""Ratios compare policies seed by seed, and the table shows what the JSON says."""

from __future__ import annotations

from typing import Any

import pytest

from p2psub.bench.earning_report import EarningReport, EarningResult, earning_ratios
from p2psub.bench.earnings import earning_settings_of
from p2psub.bench.plan import EarningPlan
from p2psub.cli.bench_tables import earning_table
from tests.unit.benchmarks.test_report import text_of


def result(policy: str, seed: int, earning: float, on_time: int = 50, **changes: Any) -> EarningResult:
    """One run of a hundred pairs."""
    fields: dict[str, Any] = {
        "policy": policy, "seed": seed, "published": 25, "matched": 100, "on_time": on_time, "expired": 100 - on_time,
        "late": 0, "earned": earning + 1.0, "penalties": 1.0, "earning": earning, "link_busy_share": 0.99,
        "committed_ms_p99": 123.4, "heartbeat_ms_p99": 98.7, "content_copies": 1.0, "violations": 0,
    }  # fmt: skip
    return EarningResult(**(fields | changes))


RESULTS = (
    result("fix", 0, 10.0), result("mtep", 0, 15.0, 60), result("fix", 1, 20.0), result("mtep", 1, 50.0, 70),
)  # fmt: skip


def test_ratios_are_means_over_the_seeds_that_both_have() -> None:
    """Of earnings and of shares in time; with one seed nothing deviates."""
    (ratio,) = earning_ratios([*RESULTS, result("fix", 2, 1.0)], 64.0)
    assert (ratio.rate, ratio.policy) == (64.0, "fix")
    assert ratio.earning_mean == pytest.approx((1.5 + 2.5) / 2)
    assert ratio.success_mean == pytest.approx((1.2 + 1.4) / 2)
    assert ratio.earning_sd == pytest.approx(0.5**0.5, abs=1e-4)
    (alone,) = earning_ratios(RESULTS[:2], 64.0)
    assert alone.earning_sd == 0.0


def test_there_is_no_ratio_to_who_earned_nothing() -> None:
    """Nor without mtep."""
    (ratio,) = earning_ratios([result("lrt", 0, -1.0, 0), result("mtep", 0, 5.0)], 64.0)
    assert (ratio.earning_mean, ratio.success_mean) == (None, None)
    assert list(earning_ratios([result("lrt", 0, 1.0)], 64.0)) == []


def test_the_table_shows_all_policies_and_what_mtep_gains() -> None:
    """With what was wrong."""
    results = (*RESULTS, result("fix", 2, 1.0, violations=3))
    report = EarningReport(
        results=results, ratios=tuple(earning_ratios(results, 64.0)), settings=earning_settings_of(EarningPlan())
    )
    text = text_of(earning_table(report))
    assert "3 clusters on lines of 64,000 bytes/s, offered 2 times that" in text
    assert "mtep / fix: earning 2.00, on time 1.30" in text
    assert report.violations == 3
