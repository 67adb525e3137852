"""`p2psub sim mtep-page`: the experiment of MTEP 3 as a page, with its tables and plots."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from p2psub.cli.exits import explained
from p2psub.cli.mtep import Minutes, performed
from p2psub.cli.pages import Kept, Page, ShowFinished, write_page
from p2psub.cli.ranges import read_seeds
from p2psub.cli.sweeps import Jobs, Master, OnSpark, check_spark


def sim_mtep_page(
    page: Page,
    keep: Kept,
    finished: ShowFinished = False,
    minutes: Minutes = 120.0,
    seeds: Annotated[str, typer.Option(help="Topologies of the paper's figures.")] = "0..9",
    judged: Annotated[str, typer.Option(help="Topologies on which ways by load are judged.")] = "100..107",
    judged_minutes: Minutes = 120.0,
    jobs: Jobs = 0,
    spark: OnSpark = False,
    master: Master = None,
) -> None:
    """Run all that docs/experiments/mtep.md shows, and write its tables, and its plots beside it."""
    from sims.experiments.mtep.plan import PagePlan  # noqa: PLC0415, the node's CLI must not load simulations
    from sims.experiments.mtep.plots import draw  # noqa: PLC0415
    from sims.experiments.mtep.tables import tables_of  # noqa: PLC0415
    from sims.experiments.mtep.trial import MESH_RUNS  # noqa: PLC0415

    with explained():
        plan = PagePlan(minutes, tuple(read_seeds(seeds)), tuple(read_seeds(judged)), judged_minutes)
        check_spark(spark, master)
        trials = plan.trials()
        run = None if finished else partial(performed, trials, keep, jobs, spark, master)
        write_page(page, MESH_RUNS, trials, keep, run, partial(tables_of, plan), partial(draw, plan))
