"""What a run showed: when it is a failure, and how it is told."""

from __future__ import annotations

import io

import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

from p2psub.cli.demo import report_rows
from p2psub.cli.exits import EXIT_REFUSED
from p2psub.cli.main import app
from p2psub.cli.overlay_runs import report_table
from p2psub.demo.report import DemoReport, Killed
from p2psub.model.status import Role

SOUND = DemoReport(
    seed=1,
    peers=16,
    clusters=4,
    super_nodes=4,
    subscriptions=24,
    published=500,
    acknowledged=500,
    matched=1553,
    expected=1553,
    delivered=1553,
    lost=0,
    duplicates=0,
    unwanted=0,
    wire_duplicates=17,
    coverage=1.0,
    failovers=1,
    latency_p50_ms=17.6,
    latency_p99_ms=1801.7,
    killed=(Killed(name="peer-07", cluster="cluster-3", role=Role.SUPER_NODE),),
    seconds={"starting": 4.2},
    trace_dir="/somewhere/peers",
)


@pytest.mark.parametrize("broken", [{"lost": 1}, {"duplicates": 1}, {"unwanted": 1}, {"acknowledged": 499}])
def test_whatever_breaks_a_promise_is_a_failure(broken: dict[str, int]) -> None:
    """Lost, handed over twice, handed over to whom it is not for, never answered."""
    assert SOUND.is_sound
    assert not msgspec.structs.replace(SOUND, **broken).is_sound


def test_a_failed_audit_of_the_traces_is_a_failure() -> None:
    """Also where the demo itself saw nothing wrong; that the analysis could not be made is none."""
    assert msgspec.structs.replace(SOUND, analysis={"violated": 0, "unknown": 3}).is_sound
    assert not msgspec.structs.replace(SOUND, analysis={"violated": 1}).is_sound


def test_people_read_what_is_unknown_and_where_the_report_is() -> None:
    """In the same table, in a line each."""
    counted = {"violated": 0, "unknown": 2, "undecided": 3, "delivered": 1550, "matched": 1553, "lost": 0}
    analysis = {**counted, "report": "/x/report.html"}
    paper = io.StringIO()
    Console(file=paper, width=120).print(report_table(report_rows(msgspec.structs.replace(SOUND, analysis=analysis))))
    assert "3 answers: killed peers took the last second of their traces along" in paper.getvalue()
    assert "/x/report.html" in paper.getvalue()


def test_programs_find_every_figure_under_its_name() -> None:
    """The names are an interface."""
    names = (
        "peers clusters super_nodes published acknowledged matched delivered lost duplicates wire_duplicates coverage "
        "failovers latency_p50_ms latency_p99_ms trace_dir"
    )
    assert set(names.split()) <= msgspec.to_builtins(SOUND).keys()


@pytest.mark.parametrize("latency_ms", [17.6, None])
def test_people_get_a_table(latency_ms: float | None) -> None:
    """Also where nothing arrived, and there is no latency."""
    paper = io.StringIO()
    report = msgspec.structs.replace(SOUND, latency_p50_ms=latency_ms, latency_p99_ms=latency_ms)
    Console(file=paper, width=120).print(report_table(report_rows(report)))
    assert "peer-07 (super-node of cluster-3)" in paper.getvalue()
    assert "1553 of 1553 expected" in paper.getvalue()


def test_a_bad_option_ends_with_advice() -> None:
    """Nothing is started, and the field at fault is named."""
    result = CliRunner().invoke(app, ["demo", "--peers", "3"])
    assert result.exit_code == EXIT_REFUSED
    assert "peers: " in result.output
