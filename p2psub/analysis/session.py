"""Spark made easy: a session that finds its Java, listens on loopback unless a cluster must reach it, and keeps quiet.

One per program: Spark knows no more than one session that matters, and its JVM stays until the program ends.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from p2psub.analysis.java import Java, find_java, write_shim
from p2psub.api.errors import Refusal

LOOPBACK: Final = "127.0.0.1"
_SHUFFLE_PARTITIONS: Final = 4
"""Enough for a laptop; adaptive execution splits what is skewed."""
_SHUFFLE_PARTITIONS_OF_CLUSTER: Final = 200
"""Spark's own number; adaptive execution makes fewer of them where there is less to do."""
_ROWS_PER_PARTITION: Final = 1_000_000
_BYTES_PER_PARTITION: Final = 16 << 20
"""What one task groups or sorts, at most: so much stays in memory, and near the processor."""
_CLUSTER: Final = "spark://"
_MASTER: Final = re.compile(r"local(\[(\*|[1-9]\d*)\])?|spark://.+")
_ANSWER_S_MAX: Final = 10.0
_MEMORY_SHARE: Final = 0.25
_MEMORY_MIB_MIN: Final = 1024
_MEMORY_MIB_MAX: Final = 8192

_QUIET_LOG: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %m%n%ex{short}
# Else it announces that it sets a level of its own.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
# What fails is told by the exception that Python gets.
logger.executor.name = org.apache.spark.executor
logger.executor.level = off
logger.scheduler.name = org.apache.spark.scheduler
logger.scheduler.level = off
logger.writer.name = org.apache.spark.sql.execution.datasources
logger.writer.level = off
"""

_STDERR: Final = "-XX:+DisplayVMOutputToStderr -Xlog:disable -Xlog:all=error:stderr"
"""A JVM warns on stdout by default, in the midst of what `--json` prints."""
_THROUGHPUT: Final = (
    "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=25000 -XX:Tier4MinInvocationThreshold=3000"
    " -XX:Tier4CompileThreshold=75000 -XX:Tier4BackEdgeThreshold=200000"
)
"""A collector for those who wait for the last row, not for each, and five times the runs before code is made as good
as it gets: every query is new code, and a third of the CPU went into compiling what ran for a second. Coverage of 10^8
records took an eighth less CPU with the one, four questions 6 % less with the other; of 2*10^7 records 17 %."""
_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""Half the start-up, but up to 1.9 times slower on ten million rows: for tests and small traces.

Alone it would leave 48 MB for compiled code, which some twenty questions fill: then nothing is compiled any more.
"""
_PARTITIONS: Final = "spark.sql.shuffle.partitions"
_INTERPRETED: Final = {
    _PARTITIONS: "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Of few rows it takes longer to compile a query, and to plan it anew after each stage, than to run it."""


class SparkFailed(Refusal):
    """Spark did not start."""


def open_session(
    master: str = "local[*]",
    *,
    memory_mib: int | None = None,
    quick: bool = False,
    settings: dict[str, str] | None = None,
) -> SparkSession:
    """The session of this program, started if it is not there.

    `memory_mib` bounds the heap of this program's JVM, by default a quarter of the machine's memory. `quick` is for
    some 100,000 rows at most.
    """
    _check_master(master)
    host = host_towards(master)
    home = _rooms()
    java = find_java()
    _set_environment(write_shim(java, home / "java"), host)
    options = _java_options(home, quick)
    is_cluster = master.startswith(_CLUSTER)
    partitions = _SHUFFLE_PARTITIONS_OF_CLUSTER if is_cluster else _SHUFFLE_PARTITIONS
    of_executors = _QUICK if quick else ""
    builder = SparkSession.builder.appName("p2psub").master(master)
    for name, value in {
        "spark.driver.host": host,
        "spark.driver.bindAddress": host,
        "spark.driver.memory": f"{memory_mib or memory_mib_here()}m",
        "spark.driver.extraJavaOptions": options,
        "spark.executor.extraJavaOptions": of_executors if is_cluster else options,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.structuredLogging.enabled": "false",
        _PARTITIONS: str(partitions),
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": str(_BYTES_PER_PARTITION),
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Asks the JVM twice for every column that a query is built of, to name its line in an error.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        # Segments are many and small: opening one costs about as much as reading this much of it.
        "spark.sql.files.openCostInBytes": str(64 << 10),
        # Files are listed here, not by a job of thousands of tasks.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
        **(_INTERPRETED if quick else {}),
        **(settings or {}),
    }.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError) as error:
        raise _failure(java) from error


def make_room_for(spark: SparkSession, rows: int) -> None:
    """Let the session bring so many rows together in as many tasks as they need, if it has fewer."""
    needed = rows // _ROWS_PER_PARTITION
    if needed > int(spark.conf.get(_PARTITIONS) or 0):
        spark.conf.set(_PARTITIONS, str(needed))


@contextmanager
def spark_session(master: str, *, quick: bool = False) -> Iterator[SparkSession]:
    """A session for the block.

    A signal may come in the midst of a call, and then the JVM can be told nothing more: it ends with this program.
    """
    spark = open_session(master, quick=quick)
    try:
        yield spark
    except Exception:
        spark.stop()
        raise
    spark.stop()


def _check_master(master: str) -> None:
    """Spark would say it in thirty lines of Java."""
    if not _MASTER.fullmatch(master):
        raise SparkFailed(f"{master!r} is not a Spark master", "give local[*], local[4], or spark://HOST:PORT")


def host_towards(master: str) -> str:
    """The address at which executors reach this program: loopback, unless the master is on another machine.

    Then it is the one from which the master is reached; of several masters the first that answers.
    """
    if not master.startswith(_CLUSTER):
        return LOOPBACK
    refused = []
    for place in master.removeprefix(_CLUSTER).split(","):
        host, _, port = place.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _ANSWER_S_MAX) as link:
                return str(link.getsockname()[0])
        except (OSError, ValueError) as error:
            refused.append(f"{place or 'no address'} ({error})")
    raise SparkFailed(
        f"no Spark master answers: {', '.join(refused)}", "see whether one runs there; name it as spark://HOST:PORT"
    )


def memory_mib_here() -> int:
    """A quarter of this machine's memory, within reason."""
    total_mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return int(min(max(total_mib * _MEMORY_SHARE, _MEMORY_MIB_MIN), _MEMORY_MIB_MAX))


def spark_home() -> Path:
    """Where the Spark that was installed with PySpark lies: its programs and jars."""
    return Path(pyspark.__file__).parent


def _set_environment(java_home: Path, host: str) -> None:
    """For the JVM and for Python workers; another Spark on this machine must not mix with ours."""
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ["SPARK_HOME"] = str(spark_home())
    os.environ["SPARK_LOCAL_IP"] = host
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


def _java_options(home: Path, quick: bool) -> str:
    log = home / "log4j2.properties"
    log.write_text(_QUIET_LOG, encoding="utf-8")
    options = [
        f"-Dlog4j2.configurationFile={log.as_uri()}",
        f"-Dderby.system.home={home}",
        "-Duser.timezone=UTC",
        _STDERR,
    ]
    return " ".join([*options, _QUICK if quick else _THROUGHPUT])


def _rooms() -> Path:
    """A directory for the shim and Spark's own files, gone when the program ends."""
    home = Path(tempfile.mkdtemp(prefix="p2psub-spark-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return home


def _failure(java: Java) -> SparkFailed:
    message = f"Spark did not start with Java {java.version} at {java.path} ({java.source})"
    return SparkFailed(message, "let P2PSUB_JAVA name another Java, or give Spark less memory")
