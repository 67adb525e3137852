"""Work that falls into independent pieces, spread over Spark's tasks: a laptop's cores, or a cluster's.

A piece and what comes of it are pickled, and the function by its name: p2psub must be installed where tasks run.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Final, TypeVar

from pyspark import SparkContext
from pyspark.sql import SparkSession

POLL_S: Final = 0.2

T = TypeVar("T")
R = TypeVar("R")


def spread_over(
    spark: SparkSession, function: Callable[[T], R], items: Sequence[T], tell: Callable[[int], None] | None = None
) -> list[R]:
    """What `function` makes of every item, in their order; a task each, so put those that take long first.

    `tell` hears now and then how many are done.
    """
    if not items:
        return []
    context = spark.sparkContext
    group = f"p2psub-sweep-{uuid.uuid4()}"

    def collect() -> list[R]:
        context.setJobGroup(group, f"{len(items)} pieces", interruptOnCancel=True)
        return context.parallelize(items, len(items)).map(function).collect()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(collect)
        try:
            while not wait([waiting], POLL_S, FIRST_COMPLETED).done:
                if tell is not None:
                    tell(_done_in(context, group))
        except BaseException:
            context.cancelJobGroup(group)
            raise
    found = waiting.result()
    if tell is not None:
        tell(len(found))
    return found


def _done_in(context: SparkContext, group: str) -> int:
    """How many tasks of a job group have ended."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    return sum(stage.numCompletedTasks for stage in stages if stage is not None)
