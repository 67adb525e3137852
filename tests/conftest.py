"""Hypothesis repeats itself: the same examples on every machine, so that a red test is red for everybody.

`pytest --hypothesis-profile=explore` looks at new ones. What simulations show, and how long the tests of each
directory took, is printed at the end of every run.
"""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

SHOWN = {"campaign": "simulated overlays", "mutant": "mutants, and what killed them"}
"""Properties that tests record, and the headings under which they are shown."""

LONGEST = ("test_soak", "test_demo", "test_by_hand", "test_standalone", "test_agreement")
"""Minutes of waiting for peers, or for Spark."""

settings.register_profile(
    "house",
    deadline=None,  # the machine may be busy; no claim here is about speed
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", settings.get_profile("house"), derandomize=False, max_examples=2_000)
settings.load_profile("house")


def pytest_xdist_auto_num_workers() -> int | None:
    """One more than there are processors, 8 at most: tests with real peers wait most of the time."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else min(len(os.sched_getaffinity(0)) + 1, 8)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, lest the others wait for them in the end.

    The first that needs the compiled wheel builds it, for minutes on one processor, while others wait for their peers;
    the rest of those that need it come last.
    """
    compiled = [item for item in items if "compiled" in getattr(item, "fixturenames", ())]
    longest = [item for item in items if item.path.stem in LONGEST]
    placed = {*compiled, *longest}
    items[:] = [*compiled[:1], *longest, *(item for item in items if item not in placed), *compiled[1:]]


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: the collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests recorded about simulations, and where the time went; both come back from xdist's processes."""
    stages = [stage for several in terminalreporter.stats.values() for stage in several if hasattr(stage, "duration")]
    reports = [stage for stage in stages if stage.when == "call"]
    for name, heading in SHOWN.items():
        said = [text for report in reports for key, text in report.user_properties if key == name]
        if said:
            terminalreporter.section(heading)
            for text in sorted(said):
                terminalreporter.line(str(text))
    if stages:
        terminalreporter.section("seconds per directory, of all processes together")
    for directory, spent_s in sorted(seconds_per_directory(stages).items(), key=lambda row: -row[1]):
        terminalreporter.line(f"{spent_s:8.1f}  {directory}")


def seconds_per_directory(stages: list[pytest.TestReport]) -> dict[str, float]:
    """How long setting up, running and tearing down took, by the directory in tests/."""
    spent_s: dict[str, float] = {}
    for stage in stages:
        directory = "/".join(stage.nodeid.split("/")[:2])
        spent_s[directory] = spent_s.get(directory, 0.0) + stage.duration
    return spent_s
