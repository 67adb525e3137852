"""`p2psub analyze --follow`: figures that keep up with peers that write."""

from __future__ import annotations

import json
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

from rich.console import Console
from rich.live import Live
from rich.table import Table

from p2psub.cli.analyze import result_rows
from p2psub.cli.interrupts import ended_by_signal

_ENDING: Final = (signal.SIGINT, signal.SIGTERM)


def follow_traces(
    directories: Sequence[Path], master: str, *, as_json: bool, every_s: float, for_s: float | None
) -> None:
    """Print figures whenever something is new, until `for_s` is over or a signal comes.

    Then what has arrived is read once more, so that the last figures speak of all of it.
    """
    from p2psub.analysis.follower import Follower  # noqa: PLC0415, Spark is loaded only if wanted
    from p2psub.analysis.session import spark_session  # noqa: PLC0415

    with (
        tempfile.TemporaryDirectory(prefix="p2psub-follow-") as room,
        ended_by_signal(),
        spark_session(master) as spark,
        _until_signalled() as ended,
        _printer(as_json) as say,
    ):
        until_s = None if for_s is None else time.monotonic() + for_s
        follower = Follower(spark, directories, Path(room))
        is_first, is_last = True, False
        while not is_last:
            # Asked before reading: whatever came until then is in the last figures.
            is_last = ended.is_set() or (until_s is not None and time.monotonic() >= until_s)
            began_s = time.monotonic()
            if follower.read() or is_first or is_last:
                say(follower.figures())
            is_first = False
            next_s = min(began_s + every_s, began_s + every_s if until_s is None else until_s)
            if not is_last:
                ended.wait(max(next_s - time.monotonic(), 0.0))


@contextmanager
def _printer(as_json: bool) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A line of JSON per round; for people a table, in a terminal always the same one."""
    console = Console()
    if as_json:
        yield lambda figures: print(json.dumps(figures), flush=True)
    elif not console.is_terminal:
        yield lambda figures: console.print(_table(figures))
    else:
        with Live(console=console, auto_refresh=False) as live:
            yield lambda figures: live.update(_table(figures), refresh=True)


def _table(figures: Mapping[str, Any]) -> Table:
    table = Table(title="so far; Ctrl-C ends it", show_header=False)
    for name, value in result_rows(figures):
        table.add_row(name, value)
    return table


@contextmanager
def _until_signalled() -> Iterator[threading.Event]:
    """Set by Ctrl-C or SIGTERM; the round that is under way is finished. A second one ends it on the spot."""
    ended = threading.Event()
    before = {number: signal.getsignal(number) for number in _ENDING}

    def end(number: int, _: FrameType | None) -> None:
        ended.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in _ENDING:
        signal.signal(number, end)
    try:
        yield ended
    finally:
        for number in _ENDING:
            signal.signal(number, before[number])
