"""One analysis from traces to figures: every question is asked once, every audit made, and the results written.

Nothing that grows with the traces comes to this process; only counts, and as many verdicts as a person reads.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from p2psub.analysis.audit_context import AuditContext
from p2psub.analysis.audits.catalogue import AUDITS, Audit
from p2psub.analysis.audits.findings import told
from p2psub.analysis.compaction import Compacted, compact, open_compacted
from p2psub.analysis.debts import acknowledged
from p2psub.analysis.headline import headline
from p2psub.analysis.names import named
from p2psub.analysis.outputs import REPORT, WORK, keep, make_out, settling, write_figures, write_report, write_table
from p2psub.analysis.parallel import ask_at_once
from p2psub.analysis.partitions import partitions
from p2psub.analysis.progress import OnProgress
from p2psub.analysis.questions import FIRST, QUESTIONS, Question
from p2psub.analysis.rematch import rematch
from p2psub.analysis.report.assembly import Known, assemble
from p2psub.analysis.report.document import render
from p2psub.analysis.schemas import VIOLATIONS
from p2psub.analysis.session import make_room_for
from p2psub.analysis.settings import Settings
from p2psub.analysis.silent_spans import SilentSpans
from p2psub.analysis.sources import find_sources
from p2psub.analysis.tables import Tables
from p2psub.analysis.verdicts import gather_verdicts

Answers = dict[str, DataFrame]
Work = dict[str, Callable[[], DataFrame]]

VIOLATIONS_TABLE: Final = "violations"
"""The table of all that audits found."""
SKIPPED_TABLE: Final = "skipped"
"""The table of all files that were left out."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What a person wants to know, and where it should lie."""

    directories: Sequence[Path]
    out: Path | None = None
    is_rematched: bool = False
    d_diff_us: int | None = None


@dataclass(frozen=True, slots=True)
class Results:
    """What came out."""

    figures: dict[str, Any]

    @property
    def is_sound(self) -> bool:
        """No promise was broken, as far as the traces tell."""
        return not self.figures["violated"]


def run_analysis(spark: SparkSession, orders: Orders, progress: OnProgress) -> Results:
    """Do all of it. Traces that are not compacted yet are, for the time of the run."""
    out = None if orders.out is None else make_out(orders.out)
    with _workspace(out) as workspace:
        compacted = read_traces(spark, orders.directories, workspace / "traces", progress)
        make_room_for(spark, compacted.rows)
        answers = _ask(compacted.tables, orders, workspace, progress)
        progress("adding up", 0, 1)
        found = spark.read.schema(VIOLATIONS).parquet(*(str(workspace / _table_of(audit)) for audit in AUDITS))
        violations = named(compacted.tables, told(compacted.tables, found))
        verdicts = gather_verdicts(keep(violations, workspace / VIOLATIONS_TABLE))
        figures = {**headline(compacted, answers), **verdicts.figures()}
        if out is not None:
            figures["report"] = str(out / REPORT)
            progress("writing tables", 0, 2)
            skipped = [(str(path), reason) for path, reason in compacted.skipped]
            keep(spark.createDataFrame(skipped, "file string, reason string"), workspace / SKIPPED_TABLE)
            for name in (*(question.name for question in QUESTIONS), VIOLATIONS_TABLE, SKIPPED_TABLE):
                write_table(name, workspace / name, out)
            progress("writing the report", 1, 2)
            write_figures(figures, out)
            write_report(render(assemble(Known(compacted, answers, verdicts, figures, orders.directories))), out)
        return Results(figures)


@contextmanager
def _workspace(out: Path | None) -> Iterator[Path]:
    """A place for what is needed meanwhile: beside the results, which executors elsewhere can reach, or anywhere."""
    workspace = Path(tempfile.mkdtemp(prefix="p2psub-analyze-")) if out is None else out / WORK
    try:
        yield workspace
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def read_traces(spark: SparkSession, directories: Sequence[Path], workspace: Path, progress: OnProgress) -> Compacted:
    """One compaction as it is; anything else is compacted into the workspace first."""
    sources = find_sources(directories)
    if len(sources.compacted) == 1 and not sources.skipped and not sources.segments:
        return open_compacted(spark, sources.compacted[0])
    return compact(spark, directories, workspace, progress)


def _ask(tables: Tables, orders: Orders, workspace: Path, progress: OnProgress) -> Answers:
    """All answers, with names for numbers, and what each audit found; computed once and kept in the workspace."""
    acks = keep(acknowledged(tables), workspace / "acknowledged")
    settings = Settings.of(tables)
    found = partitions(tables, settings)
    pairs = keep(rematch(tables, acks, found), workspace / "pairs") if orders.is_rematched else None
    silent_spans = SilentSpans.of(tables)
    context = AuditContext(
        pairs,
        orders.d_diff_us,
        settings=settings,
        partitions=found,
        acks=acks,
        silent_spans=silent_spans,
        settle=settling(workspace),
    )
    first: Work = {
        FIRST.name: partial(FIRST.answer, tables, context),
        **{one.name: partial(_named_answer, one, tables, context) for one in QUESTIONS if one.after is None},
    }
    kept = _keep_all(first, workspace, progress)
    context = context._replace(covered=kept[FIRST.name])
    then: Work = {
        **{one.name: partial(_named_answer, one, tables, context, kept[one.after]) for one in QUESTIONS if one.after},
        **{_table_of(audit): partial(audit.find, tables, context) for audit in AUDITS},
    }
    return kept | _keep_all(then, workspace, progress)


def _keep_all(work: Work, workspace: Path, progress: OnProgress) -> Answers:
    kept: Answers = {}
    questions = {name: partial(_kept, answer, workspace / name) for name, answer in work.items()}
    for done, (name, answer) in enumerate(ask_at_once(questions), 1):
        kept[name] = answer
        progress(name, done, len(work))
    return kept


def _kept(answer: Callable[[], DataFrame], path: Path) -> DataFrame:
    return keep(answer(), path)


def _named_answer(question: Question, tables: Tables, context: AuditContext, *known: DataFrame) -> DataFrame:
    return named(tables, question.answer(tables, *known, *([context] if question.is_judging else [])))


def _table_of(audit: Audit) -> str:
    return f"audit-{audit.name}"
