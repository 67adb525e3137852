"""What is reported: medians of rounds, the conditions they were found under, and tables that say so."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from p2psub.bench.plan import FilteredPlan, LinkPlan, Ownership
from p2psub.bench.report import FilteredReport, FilteredRound, LinkReport, LinkRound, medians, settings_of
from p2psub.cli.bench_tables import filtered_table, link_table
from p2psub.model.content import Guarantee

SIGNATURES = "one for up to 256 events, checked by every receiver"


def link_round(figure: float) -> LinkRound:
    """All of whose figures are this one."""
    return LinkRound(**dict.fromkeys(LinkRound.__struct_fields__, figure))


def text_of(table: Table) -> str:
    """As a person sees it on a wide terminal."""
    console = Console(width=200)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_every_figure_is_the_median_of_its_rounds() -> None:
    """One slow round changes nothing."""
    figures = medians([link_round(1.0), link_round(100.0), link_round(2.0)])
    assert figures == dict.fromkeys(LinkRound.__struct_fields__, 2.0)


@pytest.mark.parametrize(("traces", "said"), [(True, "on, 1 of "), (False, "traces: off")])
def test_settings_say_how_it_was_measured(traces: bool, said: str) -> None:
    """Guarantee, signatures, traces, machine; in the table too."""
    settings = settings_of(LinkPlan(traces=traces), Guarantee.AT_MOST_ONCE)
    assert (settings.traces, settings.signatures, settings.event_bytes) == (traces, SIGNATURES, 200)
    assert settings.cpus > 0
    shown = text_of(link_table(link_report(settings=settings)))
    assert said in shown
    assert f"at_most_once; signatures: {SIGNATURES}" in shown


def link_report(**changes: Any) -> LinkReport:
    """A report with some figures."""
    fields: dict[str, Any] = dict.fromkeys(LinkRound.__struct_fields__, 7.0)
    fields |= {"ratio": 0.25, "latency_ratio": 1.5, "lost": 0, "rounds": (), "effectively_once_rounds": ()}
    fields |= {"effectively_once_events_per_s": 4321.0, "effectively_once_cpu_us_per_event": 99.0}
    fields |= {"settings": settings_of(LinkPlan(), Guarantee.AT_MOST_ONCE)}
    return LinkReport(**(fields | changes))


def test_the_table_says_what_is_compared_with_what() -> None:
    """Rates with a bare stream, latency with its round trip."""
    shown = text_of(link_table(link_report(events_per_s=100_000.0, bare_events_per_s=400_000.0)))
    assert "100,000/s, publish_many to batches()" in shown
    assert "400,000/s, the same events over trio's TLS stream in 64 KiB writes" in shown
    assert "0.250 of the bare stream" in shown
    assert "1.50 of the bare round trip" in shown
    assert "4,321/s in a ring of 4" in shown


def test_a_profiled_run_is_marked(tmp_path: Any) -> None:
    """Its figures are not those of the product."""
    plan = FilteredPlan(profile=tmp_path, owner=Ownership.PUBLISHER)
    report = FilteredReport(
        **dict.fromkeys(FilteredRound.__struct_fields__, 5.0),
        subscribers=8,
        filter="price >= 11 AND price < 12",
        published=100,
        delivered=8,
        lost=0,
        settings=settings_of(plan, plan.guarantee),
        rounds=(),
    )
    shown = text_of(filtered_table(report))
    assert "everything was slower" in shown
    assert "the publisher owns all" in shown
    assert "8 subscribers that want 1 % each" in shown
