"""When a soak has shown that promises were kept, and what people are told of it."""

from __future__ import annotations

import io

import msgspec
import pytest
from rich.console import Console

from p2psub.cli.overlay_runs import report_table
from p2psub.cli.soak import report_rows
from p2psub.soak.plan import SoakPlan
from p2psub.soak.report import SoakReport, soak_settings_of

SOUND = SoakReport(
    rounds=3,
    kills={"holder": 1, "owner": 1, "super_node": 1},
    published=900,
    acknowledged=890,
    refused={"outbox_full": 10},
    received=1200,
    lost=0,
    duplicates=0,
    unwanted=0,
    out_of_order=0,
    is_settled=True,
    rss_mb_max=81.2,
    trace_bytes=7_900_000,
    audit_violations=0,
    audit_undecided=2,
    audit_seconds=31.0,
    settings=soak_settings_of(SoakPlan(rounds=3)),
)


def test_refusals_break_no_promise() -> None:
    """Nor does an audit that could not be made."""
    assert SOUND.is_sound
    assert msgspec.structs.replace(SOUND, audit_violations=None, audit_undecided=None, audit_seconds=None).is_sound


@pytest.mark.parametrize(
    "broken",
    [
        {"lost": 1},
        {"duplicates": 1},
        {"unwanted": 1},
        {"out_of_order": 1},
        {"audit_violations": 1},
        {"is_settled": False},
    ],
    ids=lambda broken: next(iter(broken)),
)
def test_each_of_these_is_a_broken_promise(broken: dict[str, int]) -> None:
    """One is enough."""
    assert not msgspec.structs.replace(SOUND, **broken).is_sound


def shown(report: SoakReport) -> str:
    """The table as text."""
    page = io.StringIO()
    Console(width=120, file=page).print(report_table(report_rows(report)))
    return page.getvalue()


def test_the_table_says_what_was_broken_and_what_cannot_be_told() -> None:
    """Beside all else."""
    text = shown(msgspec.structs.replace(SOUND, out_of_order=17))
    for said in ("17", "10 outbox_full", "1 as super-node", "2 cannot be told"):
        assert said in text
    assert "PySpark is not installed" in shown(msgspec.structs.replace(SOUND, audit_violations=None))
