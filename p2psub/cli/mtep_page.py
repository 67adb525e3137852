"""`p2psub sim mtep-page`: the experiment of MTEP 3 as a page, with its tables and plots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from p2psub.cli.exits import explained
from p2psub.cli.mtep import Jobs, Minutes, performed
from p2psub.cli.plots import check_plot
from p2psub.cli.ranges import read_seeds
from p2psub.cli.sweeps import Master, OnSpark, check_spark
from p2psub.errors import ConfigError


def sim_mtep_page(
    page: Annotated[Path, typer.Argument(help="Markdown: what is between its marks is written anew.")],
    keep: Annotated[Path, typer.Option(help="Directory for finished runs; those in it are not run again.")],
    finished: Annotated[bool, typer.Option("--finished", help="Run nothing: show what is finished.")] = False,
    minutes: Minutes = 120.0,
    seeds: Annotated[str, typer.Option(help="Topologies of the paper's figures.")] = "0..9",
    judged: Annotated[str, typer.Option(help="Topologies on which ways by load are judged.")] = "100..107",
    judged_minutes: Minutes = 120.0,
    jobs: Jobs = 0,
    spark: OnSpark = False,
    master: Master = None,
) -> None:
    """Run all that docs/experiments/mtep.md shows, and write its tables, and its plots beside it."""
    from sims.experiments.mtep.archive import kept  # noqa: PLC0415, the node's CLI must not load simulations
    from sims.experiments.mtep.page import written  # noqa: PLC0415
    from sims.experiments.mtep.plan import PagePlan  # noqa: PLC0415
    from sims.experiments.mtep.plots import draw  # noqa: PLC0415
    from sims.experiments.mtep.tables import tables_of  # noqa: PLC0415

    with explained():
        plan = PagePlan(minutes, tuple(read_seeds(seeds)), tuple(read_seeds(judged)), judged_minutes)
        check_spark(spark, master)
        check_plot(page.with_suffix(".png"))
        text = _read(page)
        written(text, tables_of(plan, {}))
        trials = plan.trials()
        if not finished:
            performed(trials, keep, jobs, spark, master)
        found = {trial: result for trial in trials if (result := kept(trial, keep)) is not None}
        page.write_text(written(text, tables_of(plan, found)), encoding="utf-8")
        drawn = draw(page.parent, plan, found)
    print(
        f"{len(found):,} of {len(trials):,} runs shown in {page}, {', '.join(path.name for path in drawn) or 'no plot'}"
    )


def _read(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError("page", f"{page} cannot be read: {error.strerror}; name a page with marks") from error
