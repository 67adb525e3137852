"""Benchmarks as a person runs them, but tiny: the figures are there and fit together; their size is no claim."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from p2psub.bench.bid_load import BidLoad
from p2psub.bench.earning_report import EarningRatio, EarningReport, EarningResult
from p2psub.bench.promised_report import PromisedFigures, PromisedReport
from p2psub.bench.report import FilteredReport, LinkReport
from p2psub.bench.stalled import StalledReport
from p2psub.bench.store_report import StoreReport
from p2psub.bench.workers import WorkerEnded, open_crew

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-c", "from p2psub.cli.bench import app; app()")


def start(directory: Path, *options: str) -> subprocess.Popen[str]:
    """The command with these options; its temporary files go into this directory."""
    environment = {**os.environ, "TMPDIR": str(directory)}
    return subprocess.Popen(
        [*COMMAND, *options], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def report_of(directory: Path, *options: str) -> dict[str, Any]:
    """What it prints; it must end well and leave no file behind."""
    with start(directory, *options, "--json") as bench:
        said, told = bench.communicate()
    assert bench.returncode == 0, told
    assert list(directory.iterdir()) == []
    report: dict[str, Any] = json.loads(said)
    return report


def test_link_compares_the_product_with_a_bare_stream(tmp_path: Path) -> None:
    """All rates, latencies and costs are positive, nothing is lost, ratios are what they say."""
    report = report_of(tmp_path, "link", "--events=200", "--rounds=1", "--seconds=0.1")
    assert set(report) == set(LinkReport.__struct_fields__)
    assert report["lost"] == 0
    figures = {name: value for name, value in report.items() if isinstance(value, float)}
    assert not {name: value for name, value in figures.items() if value <= 0}
    assert report["ratio"] == pytest.approx(report["events_per_s"] / report["bare_events_per_s"], abs=1e-4)
    assert report["latency_ratio"] == pytest.approx(report["latency_p50_us"] / report["bare_latency_p50_us"], abs=0.01)
    assert report["latency_p50_us"] <= report["latency_p99_us"]
    assert report["bytes_per_event"] > report["settings"]["event_bytes"]
    assert (len(report["rounds"]), len(report["effectively_once_rounds"])) == (1, 1)
    assert report["settings"]["guarantee"] == "at_most_once"


def test_filtered_delivers_one_percent_to_each(tmp_path: Path) -> None:
    """Everything that was wanted came; and where the time went is written down if asked for."""
    profile = tmp_path / "profile"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    report = report_of(
        temporary, "filtered", "--events=900", "--rounds=2", "--subscribers=2", "--profile", str(profile)
    )
    assert set(report) == set(FilteredReport.__struct_fields__)
    assert (report["published"], report["delivered"], report["lost"]) == (1800, 36, 0)
    assert report["cpu_us_per_event"] > report["publisher_cpu_us_per_event"] > 0
    assert report["events_per_s"] > 0
    assert report["bytes_per_event"] > 0
    assert report["settings"]["is_profiled"] is True
    names = {f"filtered-{peer}" for peer in ("publisher", "subscriber-0", "subscriber-1")}
    assert {path.stem for path in profile.glob("*.txt")} == {path.stem for path in profile.glob("*.pstats")} == names


def test_promised_counts_what_a_promise_costs(tmp_path: Path) -> None:
    """Nothing is lost or doubled, with publishers that subscribe too; and it can be compared with itself."""
    temporary, before = tmp_path / "temporary", tmp_path / "before.json"
    temporary.mkdir()
    options = ("promised", "--seconds=1", "--rate=40", "--topics=9", "--publishers=2", "--wildcards=2")
    report = report_of(temporary, *options)
    assert set(report) == set(PromisedReport.__struct_fields__)
    assert (report["acknowledged"], report["unacknowledged"]) == (40, 0)
    assert (report["lost"], report["duplicates"], report["before"]) == (0, 0, None)
    assert not {name: report[name] for name in PromisedFigures.__struct_fields__ if report[name] <= 0}
    assert report["latency_p50_ms"] <= report["latency_p99_ms"]
    assert report["bytes_per_event"] > 3 * report["settings"]["event_bytes"]
    assert report["settings"]["guarantee"] == "effectively_once"
    assert len(report["rss_mb_by_minute"]) == 1
    before.write_text(json.dumps(report))
    again = report_of(temporary, "promised", "--seconds=0.5", "--at-once=5", "--before", str(before))
    assert again["lost"] == 0
    assert again["before"]["differing"]["topics"] == [9, 4]
    assert again["before"]["ratios"]["rows_per_event"] > 0


def test_stalled_subscriber_gets_everything_in_the_end(tmp_path: Path) -> None:
    """Ten channels full wait for it meanwhile, and the other subscriber does not."""
    report = report_of(tmp_path, "stalled", "--owed=640", "--window=64", "--seconds=1", "--timed=1", "--rate=40")
    assert set(report) == set(StalledReport.__struct_fields__)
    assert report["owed"] >= 640 + 40
    assert (report["lost"], report["duplicates"]) == (0, 0)
    figures = {name: value for name, value in report.items() if isinstance(value, float)}
    assert not {name: value for name, value in figures.items() if value <= 0}
    assert report["settings"]["window"] == 64


@pytest.mark.slow
def test_earning_compares_policies_on_slow_lines(tmp_path: Path) -> None:
    """Every pair has one end, lines are full, no body goes twice; who goes by deadline and price earns more."""
    options = ("--link-bytes-per-s=64000", "--load=2", "--subscriptions=64", "--policies=fcfs,mtep", "--seeds=1")
    report = report_of(tmp_path, "earning", *options, "--seconds=10")
    assert set(report) == set(EarningReport.__struct_fields__)
    first_come, mtep = report["results"]
    assert [result["policy"] for result in report["results"]] == ["fcfs", "mtep"]
    assert first_come["matched"] == mtep["matched"] == len(BidLoad(1, *rate_of(report), 64, 1_200).matched)
    for result in report["results"]:
        assert set(result) == set(EarningResult.__struct_fields__)
        assert result["published"] == round(10 * report["settings"]["rate_per_s"])
        assert result["on_time"] + result["expired"] == result["matched"]
        assert result["earning"] == pytest.approx(result["earned"] - result["penalties"])
        assert (result["late"], result["violations"]) == (0, 0)
        assert result["content_copies"] == 1.0
        assert 0.5 < result["link_busy_share"] <= 1.01
        assert result["committed_ms_p99"] > 0
        assert result["heartbeat_ms_p99"] > 0
    assert mtep["earning"] > first_come["earning"]
    (ratio,) = report["ratios"]
    assert set(ratio) == set(EarningRatio.__struct_fields__)
    assert ratio["success_mean"] == pytest.approx(mtep["on_time"] / first_come["on_time"], abs=1e-3)


def rate_of(report: dict[str, Any]) -> tuple[float, float]:
    """Events a second, and for how long."""
    return report["settings"]["rate_per_s"], report["settings"]["seconds"]


def test_store_is_measured_beside_a_bare_loop(tmp_path: Path) -> None:
    """Packs have the size that the publishers give them, ratios are what they say, every cost is there."""
    options = ("--publishers=1,64", "--events=3000", "--rounds=1", "--open-events=2000", "--pack=8")
    report = report_of(tmp_path, "store", *options)
    assert set(report) == set(StoreReport.__struct_fields__)
    assert {name: rate["events_per_pack"] for name, rate in report["publishers"].items()} == {"1": 256, "64": 16}
    for rate in report["publishers"].values():
        assert rate["ratio"] == pytest.approx(rate["events_per_s"] / rate["bare_events_per_s"], abs=0.002)
        assert 0 < rate["events_per_commit"] <= 3000
    figures = {name: value for name, value in report.items() if isinstance(value, float)}
    assert not {name: value for name, value in figures.items() if value <= 0}
    assert report["settings"]["open_events_per_pack"] == 8


def test_an_interrupted_benchmark_leaves_nothing(tmp_path: Path) -> None:
    """No file; and the guard of its processes, who holds our pipe too, has ended them and itself."""
    with start(tmp_path, "link") as bench:
        assert bench.stderr is not None
        assert "forming" in bench.stderr.readline()
        bench.send_signal(signal.SIGTERM)
        bench.communicate()
    assert bench.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


async def test_a_process_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    """Whoever asks it something must know why there is no answer."""
    async with open_crew(tmp_path) as crew:
        worker = await crew.hire("nobody", "p2psub.bench.nobody")
        with pytest.raises(WorkerEnded, match=r"(?s)nobody ended.*No module named"):
            await worker.look()
