"""A small Spark cluster on loopback: a master and some workers, as processes of this machine.

    python -m p2psub.analysis.standalone --workers 2
    p2psub trace compact DIR --out TABLES --master spark://127.0.0.1:PORT

It prints the address of the master when that listens, and runs until it is interrupted or told to end. It is what a
real cluster is, only small: a way to try one, and to see that results do not depend on where Spark runs.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from p2psub.analysis.java import find_java, write_shim
from p2psub.analysis.session import LOOPBACK, SparkFailed, spark_home

_START_S_MAX: Final = 120.0
_END_S_MAX: Final = 20.0


class ClusterPlan(NamedTuple):
    """How large the cluster is."""

    workers: int = 2
    cores: int = 1
    memory_mib: int = 1024
    """What each worker gives to executors; a program's executor takes 1 GiB unless told otherwise."""


@contextmanager
def standalone_cluster(plan: ClusterPlan | None = None) -> Iterator[str]:
    """The address of a cluster that runs during the block."""
    plan = plan or ClusterPlan()
    with tempfile.TemporaryDirectory(prefix="p2psub-cluster-") as directory, ExitStack() as stack:
        place = Path(directory)
        environment = _environment(place)
        port = _free_port()
        address = f"spark://{LOOPBACK}:{port}"
        words = ["master.Master", "--host", LOOPBACK, "--port", str(port), "--webui-port", "0"]
        master = stack.enter_context(_running(place / "master.log", environment, words))
        _wait_listening(port, master, place / "master.log")
        for number in range(plan.workers):
            words = ["worker.Worker", "--host", LOOPBACK, "--cores", str(plan.cores), "--webui-port", "0"]
            words += ["--memory", f"{plan.memory_mib}m", "--work-dir", str(place / f"work{number}"), address]
            stack.enter_context(_running(place / f"worker{number}.log", environment, words))
        yield address


def _environment(place: Path) -> dict[str, str]:
    return os.environ | {
        "JAVA_HOME": str(write_shim(find_java(), place / "java")),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        "PYSPARK_PYTHON": sys.executable,
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _running(log: Path, environment: dict[str, str], words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    program, *arguments = words
    command = [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{program}", *arguments]
    with log.open("wb") as out:
        # A group of its own: Ctrl-C is for us, who end the workers first.
        child = subprocess.Popen(command, env=environment, stdout=out, stderr=out, start_new_session=True)
        try:
            yield child
        finally:
            child.terminate()
            try:
                child.wait(_END_S_MAX)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _wait_listening(port: int, master: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S_MAX
    while time.monotonic() < deadline and master.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, port)) == 0:
                return
        # Another program, which says nothing when it listens but in a log for people.
        time.sleep(0.2)
    last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    raise SparkFailed(f"the master of the cluster does not listen: {''.join(last)}", "see whether its Java is sound")


def main() -> None:
    """Run a cluster until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m p2psub.analysis.standalone",
        description="Run a Spark cluster on loopback, and print the address of its master. Ctrl-C ends it.",
    )
    plan = ClusterPlan()
    parser.add_argument("--workers", type=int, default=plan.workers, help="how many (default: %(default)s)")
    parser.add_argument("--cores", type=int, default=plan.cores, help="of each worker (default: %(default)s)")
    parser.add_argument("--memory-mib", type=int, default=plan.memory_mib, help="of each (default: %(default)s)")
    given = parser.parse_args()
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with standalone_cluster(ClusterPlan(given.workers, given.cores, given.memory_mib)) as address:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        signal.sigwait(ends)


if __name__ == "__main__":
    main()
