"""Hypothesis repeats itself: the same examples on every machine, so that a red test is red for everybody.

`pytest --hypothesis-profile=explore` looks at new ones.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

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
