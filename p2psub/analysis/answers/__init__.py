"""One module per question; an answer is a function from the tables to a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import DataFrame

from p2psub.analysis.answers.casts import cast_totals
from p2psub.analysis.answers.conservation import conservation
from p2psub.analysis.answers.coverage import coverage_totals
from p2psub.analysis.answers.delays import delays
from p2psub.analysis.answers.duplicates import duplicates
from p2psub.analysis.answers.earnings import earnings
from p2psub.analysis.answers.latency import latency
from p2psub.analysis.answers.load import load
from p2psub.analysis.tables import Tables

Answer = Callable[[Tables], DataFrame]

QUESTIONS: Final[dict[str, Answer]] = {
    "coverage": coverage_totals,
    "casts": cast_totals,
    "duplicates": duplicates,
    "latency": latency,
    "delays": delays,
    "load": load,
    "earnings": earnings,
    "conservation": conservation,
}
"""The short answer to each question: as many rows as a person can read, or one per node."""
