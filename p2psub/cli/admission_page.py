"""`p2psub sim admission-page`: the experiment of RacsCBPS 5 as a page, with its tables and plots."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from p2psub.cli.admission import SIZES, Seconds, Sizes, performed, read_subscribers
from p2psub.cli.exits import explained
from p2psub.cli.pages import Kept, Page, ShowFinished, write_page
from p2psub.cli.ranges import read_seeds
from p2psub.cli.sweeps import Jobs, Master, OnSpark, check_spark


def sim_admission_page(
    page: Page,
    keep: Kept,
    finished: ShowFinished = False,
    subscribers: Sizes = SIZES,
    seconds: Seconds = 60.0,
    seeds: Annotated[str, typer.Option(help="A..B (both included), or a list like 1,5,9.")] = "0..9",
    jobs: Jobs = 0,
    spark: OnSpark = False,
    master: Master = None,
) -> None:
    """Run all that docs/experiments/admission.md shows, and write its tables, and its plots beside it."""
    from sims.experiments.admission.plan import AdmissionPlan  # noqa: PLC0415, the node's CLI must not load simulations
    from sims.experiments.admission.plots import draw  # noqa: PLC0415
    from sims.experiments.admission.tables import tables_of  # noqa: PLC0415
    from sims.experiments.admission.trial import ADMISSION_RUNS  # noqa: PLC0415

    with explained():
        plan = AdmissionPlan(seconds, tuple(read_seeds(seeds)), read_subscribers(subscribers))
        check_spark(spark, master)
        trials = plan.trials()
        run = None if finished else partial(performed, trials, keep, jobs, spark, master)
        write_page(page, ADMISSION_RUNS, trials, keep, run, partial(tables_of, plan), partial(draw, plan))
