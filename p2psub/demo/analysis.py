"""The analysis of a run's own traces, by `p2psub analyze` as a process of its own: no part of the demo loads Spark."""

from __future__ import annotations

import importlib.util
import subprocess
from typing import Any, Final

import msgspec
import trio

from p2psub.demo.directories import RunDirectories
from p2psub.demo.fleet import COMMAND
from p2psub.demo.leash import leashed
from p2psub.demo.stages import Stages, patient
from p2psub.errors import P2psubError

EXIT_BROKEN: Final = 3
ANALYSIS_S_MAX: Final = 900.0
"""Far above what a busy machine takes; only a hang is ended by it."""
NO_SPARK: Final = "the traces are not analysed: PySpark is not installed; pip install 'p2psub[spark]' brings it"

AnalysisFigures = dict[str, Any]
"""What `p2psub analyze --json` prints."""


class AnalysisFailed(P2psubError):
    """The analysis came to no figures."""


def has_spark() -> bool:
    """Whether the analysis can run here; asked without loading it."""
    return importlib.util.find_spec("pyspark") is not None


async def analyse(
    directories: RunDirectories, stages: Stages, patience_s: float = ANALYSIS_S_MAX
) -> AnalysisFigures | None:
    """The figures of a run's traces, with the report beside them; None, said in a line, without Spark."""
    if not has_spark():
        stages.reporter.note(NO_SPARK)
        return None
    command = [*COMMAND, "analyze", str(directories.peers), "--out", str(directories.analysis), "--json"]
    with stages.stage("analysing"), patient(patience_s, lambda: "the analysis took too long"), leashed() as group:
        done = await trio.run_process(
            command,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
            stdin=subprocess.DEVNULL,
            process_group=group,
        )
    if done.returncode not in (0, EXIT_BROKEN):
        raise AnalysisFailed(f"the analysis ended with {done.returncode}: {_said(done)}")
    return msgspec.json.decode(done.stdout, type=AnalysisFigures)


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    """Its advice; or the end of whatever it wrote."""
    lines = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
    return "\n".join(lines[-20:])
