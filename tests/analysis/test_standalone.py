"""A cluster gives what one machine gives."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from p2psub.analysis.session import SparkFailed, host_towards, open_session
from p2psub.cli.analyze import EXIT_VIOLATION
from tests.analysis.conftest import Analysed
from tests.analysis.traces import market

_PATIENCE_S = 900


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


def analyzed(*words: object) -> subprocess.CompletedProcess[str]:
    """What `p2psub analyze` says."""
    command = [sys.executable, "-m", "p2psub", "analyze", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE_S)


@pytest.mark.slow
def test_a_cluster_gives_the_same_figures(analysed_market: Analysed) -> None:
    """Analysis by a master and two workers, and analysis here: the same figures, the same violations."""
    here = json.loads(analysed_market.result.stdout)
    with cluster() as master:
        assert master.startswith("spark://127.0.0.1:")
        ran = analyzed(analysed_market.traces, "--master", master, "--json")
    assert (ran.returncode, ran.stderr) == (EXIT_VIOLATION, "")
    assert json.loads(ran.stdout) | {"report": here["report"]} == here
    assert (here["rows"], here["lost"]) == (len(analysed_market.trace.records), 1)


def test_where_no_master_answers_it_says_so_at_once(tmp_path: Path) -> None:
    """Spark would try for a minute; a word that is no address is no better."""
    market().write(tmp_path)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{closed.getsockname()[1]}"
        ran = analyzed(tmp_path, "--master", master)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"no Spark master answers: {master.removeprefix('spark://')} (" in ran.stderr
    with pytest.raises(SparkFailed, match="name it as spark://HOST:PORT"):
        host_towards("spark://127.0.0.1")


@pytest.mark.parametrize("master", ["locl", "local[x]", "local[0]", "127.0.0.1:7077", ""])
def test_what_is_no_master_is_refused_with_examples(master: str) -> None:
    """Before a JVM is started."""
    with pytest.raises(SparkFailed, match="is not a Spark master; give local"):
        open_session(master)


def test_executors_reach_this_program_where_it_reaches_the_master() -> None:
    """Of several masters the first that answers counts; without a cluster nobody else needs to reach it."""
    with socket.create_server(("127.0.0.2", 0)) as server, socket.socket() as closed:
        closed.bind(("127.0.0.2", 0))
        places = [f"127.0.0.2:{one.getsockname()[1]}" for one in (closed, server)]
        assert host_towards(f"spark://{','.join(places)}") == "127.0.0.1"
    assert host_towards("local[*]") == "127.0.0.1"
