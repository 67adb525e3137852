"""Hypothesis repeats itself: the same examples on every machine, so that a red test is red for everybody.

`pytest --hypothesis-profile=explore` looks at new ones. What simulations show is printed at the end of every run.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

SHOWN = {"campaign": "simulated overlays", "mutant": "mutants, and what killed them"}
"""Properties that tests record, and the headings under which they are shown."""

LONGEST = ("test_compiled", "test_demo")
"""Minutes each, of waiting for a compiler or for peers."""

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
    """The longest first, lest the others wait for them in the end."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests recorded about simulations; properties also come back from the processes of xdist."""
    reports = [report for several in terminalreporter.stats.values() for report in several]
    reports = [report for report in reports if getattr(report, "when", None) == "call"]
    for name, heading in SHOWN.items():
        said = [text for report in reports for key, text in getattr(report, "user_properties", ()) if key == name]
        if said:
            terminalreporter.section(heading)
            for text in sorted(said):
                terminalreporter.line(str(text))
