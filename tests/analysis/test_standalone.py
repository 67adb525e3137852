"""A cluster gives what one machine gives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from p2psub.analysis.compacting import compact, open_tables
from tests.analysis.test_compacting import assert_same, rich_trace

_PATIENCE_S = 900

SCRIPT = """
import sys
from pathlib import Path
from p2psub.analysis.compacting import compact
from p2psub.analysis.session import open_session
quick = {"spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
spark = open_session(sys.argv[1], memory_mib=1024, shuffle_partitions=2, quick=True, settings=quick)
assert spark.sparkContext.master == sys.argv[1]
print(compact(spark, [Path(sys.argv[2])], Path(sys.argv[3])).rows)
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


def test_a_cluster_gives_the_same_tables(spark: SparkSession, tmp_path: Path) -> None:
    """Compaction by a master and two workers, and compaction here: row for row the same."""
    trace = rich_trace()
    trace.write(tmp_path / "in", batch=2)
    here = compact(spark, [tmp_path / "in"], tmp_path / "here")
    with cluster() as master:
        assert master.startswith("spark://127.0.0.1:")
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT, master, str(tmp_path / "in"), str(tmp_path / "there")],
            capture_output=True,
            text=True,
            check=True,
            timeout=_PATIENCE_S,
        )
    assert (int(ran.stdout), ran.stderr) == (here.rows, "")
    assert here.rows == len(trace.records)
    assert_same(open_tables(spark, tmp_path / "there"), here.tables)
