"""A cluster gives what one machine gives."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from p2psub.analysis.job import Orders, run_analysis
from tests.analysis.traces import market

_PATIENCE_S = 900

SCRIPT = """
import json, sys
from pathlib import Path
from p2psub.analysis.job import Orders, run_analysis
from p2psub.analysis.session import open_session
quick = {"spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
spark = open_session(sys.argv[1], memory_mib=1024, shuffle_partitions=2, quick=True, settings=quick)
assert spark.sparkContext.master == sys.argv[1]
print(json.dumps(run_analysis(spark, Orders([Path(sys.argv[2])]), lambda *_: None).figures))
"""


@contextmanager
def cluster() -> Iterator[str]:
    """A master and two workers, by the command that is documented; gives the master's address."""
    command = [sys.executable, "-m", "p2psub.analysis.standalone", "--workers", "2", "--cores", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield child.stdout.readline().strip()
        finally:
            child.terminate()
            assert child.wait(_PATIENCE_S) == 0


def test_a_cluster_gives_the_same_figures(spark: SparkSession, tmp_path: Path) -> None:
    """Analysis by a master and two workers, and analysis here: the same figures, the same violations."""
    trace = market(is_cut=False)
    trace.write(tmp_path)
    here = run_analysis(spark, Orders([tmp_path]), lambda *_: None).figures
    with cluster() as master:
        assert master.startswith("spark://127.0.0.1:")
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT, master, str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
            timeout=_PATIENCE_S,
        )
    assert ran.stderr == ""
    assert json.loads(ran.stdout) == json.loads(json.dumps(here))
    assert (here["rows"], here["lost"]) == (len(trace.records), 1)
