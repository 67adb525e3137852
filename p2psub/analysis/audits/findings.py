"""What an audit hands back: one row per broken promise, with the records that show it and a sentence for a person.

A sentence may speak of {process}, {event}, {subscription} and {cast}. `told` makes names of them as everywhere in
p2psub: the first 8 hex digits of the peer, its start, and the number there. Names take joins, so a caller that makes
several audits does it once for all. Each %d or %s takes one more column.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.schemas import KEY_BITS, VIOLATIONS
from p2psub.analysis.tables import Tables, process_of

VIOLATED: Final = "violated"
UNKNOWN: Final = "unknown"

_SAID: Final = ("invariant", "verdict", "text")
_NAMED: Final = ("process", "event", "subscription", "cast")


def finding(
    found: DataFrame, invariant: str, sentence: str, *columns: str | Column, is_unknown: Column | None = None
) -> DataFrame:
    """What is wrong with the rows of `found`; columns that it lacks stay empty."""
    return found.select(*_said(invariant, sentence, columns, is_unknown), *_facts(found))


class Fault(NamedTuple):
    """One of several things that may be wrong with a row: where `is_so`, it is a finding like any other."""

    is_so: Column
    invariant: str
    sentence: str
    columns: tuple[str | Column, ...] = ()
    is_unknown: Column | None = None


def faulty(found: DataFrame, faults: Sequence[Fault]) -> DataFrame:
    """All that is wrong with the rows of `found`, which are gone over once.

    Found out one by one, each fault would read and join all of it again.
    """
    said = [
        F.when(one.is_so, F.struct(*_said(one.invariant, one.sentence, one.columns, one.is_unknown))) for one in faults
    ]
    suspect = found.where(reduce(Column.__or__, (F.coalesce(one.is_so, F.lit(False)) for one in faults)))
    return suspect.select(F.inline(F.array_compact(F.array(*said))), *_facts(found))


def _said(invariant: str, sentence: str, columns: Sequence[str | Column], is_unknown: Column | None) -> list[Column]:
    verdict = F.lit(VIOLATED)
    if is_unknown is not None:
        verdict = F.when(F.coalesce(is_unknown, F.lit(False)), F.lit(UNKNOWN)).otherwise(verdict)
    text = F.format_string(sentence, *columns) if columns else F.lit(sentence)
    return [F.lit(invariant).alias("invariant"), verdict.alias("verdict"), text.alias("text")]


def _facts(found: DataFrame) -> list[Column]:
    return [
        (F.col(field.name) if field.name in found.columns else F.lit(None)).cast(field.dataType).alias(field.name)
        for field in VIOLATIONS.fields
        if field.name not in _SAID
    ]


def united(findings: Sequence[DataFrame]) -> DataFrame:
    """All findings of an audit, without names in their sentences."""
    return reduce(DataFrame.unionByName, findings).select([field.name for field in VIOLATIONS.fields])


def told(tables: Tables, findings: DataFrame) -> DataFrame:
    """Findings of any audits, with names in their sentences."""
    name = F.concat(F.substring("id", 1, 8), F.lit("."), F.col("incarnation").cast("string")).alias("_name")
    peers = tables.processes.join(F.broadcast(tables.nodes), "node").select(F.col("process").alias("_of"), name)
    for what in _NAMED:
        findings = _with_name(findings, F.broadcast(peers), what)
    return findings


def _with_name(findings: DataFrame, peers: DataFrame, what: str) -> DataFrame:
    process, name = F.col(what), F.col("_name")
    if what != "process":
        number = F.col(what).bitwiseAND((1 << KEY_BITS) - 1).cast("string")
        process, name = process_of(F.col(what)), F.concat(F.col("_name"), F.lit("."), number)
    said = F.replace(F.col("text"), F.lit(f"{{{what}}}"), F.coalesce(name, F.lit("?")))
    named = findings.withColumn("_process", process).join(peers, F.col("_process") == F.col("_of"), "left")
    return named.withColumn("text", said).drop("_process", "_of", "_name")
