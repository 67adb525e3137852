"""`p2psub trace`: look into the traces of peers, and make them ready for Spark."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from p2psub.api.errors import Refusal
from p2psub.api.values import event_id_from_text
from p2psub.cli.endpoint import check_directories
from p2psub.cli.exits import explained
from p2psub.cli.interrupts import ended_by_signal
from p2psub.cli.progress import spark_progress
from p2psub.cli.records import journey_to_json, journey_tree, record_text, record_to_json
from p2psub.cli.spark_extra import need_spark
from p2psub.model.records import Kind
from p2psub.traces.reader import find_segments, journey_of, merge_traces
from p2psub.traces.segments import SegmentDamaged

app = typer.Typer(
    no_args_is_help=True,
    help="Look into the traces of peers, and compact them for Spark.",
    epilog="Exit codes: 0 fine, 1 nothing could be read or written, 2 bad usage.",
)

Directories = Annotated[
    list[Path], typer.Argument(metavar="DIR...", help="Where traces lie: a peer's DATA/traces, or anything above.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]


class NothingThere(Refusal):
    """The traces do not hold what was asked for."""


@app.command()
def compact(
    directories: Directories,
    out: Annotated[Path, typer.Option(help="Directory for the tables; an older compaction there is replaced.")],
    master: Annotated[str, typer.Option(help="Where Spark runs: local[*], or spark://HOST:PORT.")] = "local[*]",
    as_json: AsJson = False,
) -> None:
    """Make sorted Parquet of many small segments, with Spark: three tables that `p2psub analyze` reads quickly.

    A segment with a damaged line is left out whole, and named.
    """
    with explained(as_json):
        need_spark()
        from p2psub.analysis.compaction import check_out  # noqa: PLC0415, a JVM's worth of imports
        from p2psub.analysis.compaction import compact as compact_  # noqa: PLC0415
        from p2psub.analysis.session import spark_session  # noqa: PLC0415
        from p2psub.analysis.sources import find_sources  # noqa: PLC0415

        # What is wrong with these is said at once, not after the seconds that Spark takes to start.
        check_directories(directories)
        find_sources(directories)
        check_out(out)
        with ended_by_signal(), spark_progress() as tell, spark_session(master) as spark, ended_by_signal():
            done = compact_(spark, directories, out, tell)
    if as_json:
        skipped = [{"file": str(path), "reason": reason} for path, reason in done.skipped]
        said = {"out": str(out), "rows": done.rows, "files": done.files, "repeated": done.repeated}
        print(json.dumps({**said, "files_skipped": len(skipped), "skipped": skipped}))
        return
    for path, reason in done.skipped:
        print(f"skipped {path}: {reason}", file=sys.stderr)
    copies = f", {done.repeated:,} copies passed over" if done.repeated else ""
    print(f"{done.rows:,} rows of {done.files:,} segments are in {out}{copies}; {len(done.skipped):,} files skipped")


@app.command()
def merge(
    directories: Directories,
    kinds: Annotated[
        list[Kind] | None, typer.Option("--kind", help="Only records of this kind; may be given several times.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the records of several peers in one order, that of the hybrid clock.

    Whatever caused something stands before it, however the clocks of the machines differ.
    """
    with explained(as_json):
        for record in merge_traces(_segments(directories), _tell_of_damage):
            if not kinds or record.kind in kinds:
                print(json.dumps(record_to_json(record)) if as_json else record_text(record))


@app.command()
def show(
    event: Annotated[str, typer.Argument(metavar="EVENT_ID", help="As `p2psub pub` prints it: hex.number.number.")],
    directories: Directories,
    as_json: AsJson = False,
) -> None:
    """Show one event's way through the overlay: who stored it, who kept copies, who got it, and after what time.

    Times are differences of the peers' clocks, and no better than those. Casts carry many events at once and are not
    shown; `p2psub trace merge --kind cast --kind forward --kind receive` lists them.
    """
    with explained(as_json):
        id_ = event_id_from_text(event)
        journey = journey_of(id_, merge_traces(_segments(directories), _tell_of_damage))
        if journey.is_empty:
            raise NothingThere(
                f"no record speaks of {event}",
                "give the traces of more peers; of at_most_once events a peer traces one in 64",
            )
        for line in [json.dumps(journey_to_json(journey))] if as_json else journey_tree(journey):
            print(line)


def _segments(directories: list[Path]) -> list[list[Path]]:
    check_directories(directories)
    segments = find_segments(directories)
    if not segments:
        raise NothingThere(
            f"no traces are in {', '.join(map(str, directories))}", "a peer writes its own to DATA/traces"
        )
    return segments


def _tell_of_damage(error: SegmentDamaged) -> None:
    print(f"p2psub: skipped a segment: {error}", file=sys.stderr)
