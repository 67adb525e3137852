"""`p2psub sim mtep-page`: the experiment of MTEP 3 as a page, with its tables and plots."""

from __future__ import annotations

from typing import Annotated

import typer

from p2psub.cli.exits import explained
from p2psub.cli.mtep import Minutes, performed
from p2psub.cli.pages import Kept, Page, ShowFinished, read_page
from p2psub.cli.plots import check_plot
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
    from sims.experiments.archive import kept  # noqa: PLC0415, the node's CLI must not load simulations
    from sims.experiments.mtep.plan import PagePlan  # noqa: PLC0415
    from sims.experiments.mtep.plots import draw  # noqa: PLC0415
    from sims.experiments.mtep.tables import tables_of  # noqa: PLC0415
    from sims.experiments.mtep.trial import MESH_RUNS  # noqa: PLC0415
    from sims.experiments.page import written  # noqa: PLC0415

    with explained():
        plan = PagePlan(minutes, tuple(read_seeds(seeds)), tuple(read_seeds(judged)), judged_minutes)
        check_spark(spark, master)
        check_plot(page.with_suffix(".png"))
        text = read_page(page)
        written(text, tables_of(plan, {}))
        trials = plan.trials()
        if not finished:
            performed(trials, keep, jobs, spark, master)
        found = {trial: result for trial in trials if (result := kept(MESH_RUNS, trial, keep)) is not None}
        page.write_text(written(text, tables_of(plan, found)), encoding="utf-8")
        drawn = draw(page.parent, plan, found)
    print(
        f"{len(found):,} of {len(trials):,} runs shown in {page}, {', '.join(path.name for path in drawn) or 'no plot'}"
    )
