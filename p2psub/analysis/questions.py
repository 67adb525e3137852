"""All questions in order, so that a job can ask them one by one and say which is under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from pyspark.sql import DataFrame

from p2psub.analysis.answers.casts import casts
from p2psub.analysis.answers.conservation import conservation
from p2psub.analysis.answers.coverage import coverage
from p2psub.analysis.answers.delays import delays, links
from p2psub.analysis.answers.duplicates import duplicate_causes, duplicates
from p2psub.analysis.answers.earnings import earnings
from p2psub.analysis.answers.latency import latency, latency_buckets
from p2psub.analysis.answers.load import load, load_balance, load_by_cluster
from p2psub.analysis.answers.places import places
from p2psub.analysis.answers.processes import processes
from p2psub.analysis.answers.timeline import timeline
from p2psub.analysis.tables import Tables


class Question(NamedTuple):
    """One question: `answer` is its table, made from the tables and, if it is `after` another, from that one's."""

    name: str
    answer: Callable[..., DataFrame]
    after: str | None = None
    is_judging: bool = False
    """Whether it must know where the trace is silent, and is told the context."""


COVERED: Final = "covered"
"""The answer about coverage with numbers for names: what judges losses needs to know which event is meant."""


def _as_known(_: Tables, known: DataFrame) -> DataFrame:
    return known


FIRST: Final = Question(COVERED, coverage, is_judging=True)
"""Others are made from it; it is not a table of its own."""

QUESTIONS: Final = (
    Question("coverage", _as_known, after=COVERED),
    Question("casts", casts, is_judging=True),
    Question("duplicates", duplicates),
    Question("duplicate_causes", duplicate_causes),
    Question("latency", latency, after="latency_buckets"),
    Question("latency_buckets", latency_buckets),
    Question("delays", delays),
    Question("links", links),
    Question("load", load),
    Question("load_balance", load_balance, after="load"),
    Question("load_by_cluster", load_by_cluster, after="load"),
    Question("earnings", earnings),
    Question("conservation", conservation, after=COVERED),
    Question("timeline", timeline),
    Question("places", places),
    Question("processes", processes),
)
"""Admission joins when its part lands."""
