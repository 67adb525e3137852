"""The compiled wheel: mypyc turns the modules that pyproject.toml names into C, beside their sources.

It runs only when asked for, as `make wheel` does (HATCH_BUILD_HOOK_ENABLE_CUSTOM=true), and in a directory of its own:
a compiled module in the source tree would hide the source that one edits.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SETUP = """\
from mypyc.build import mypycify
from setuptools import setup

# What else is imported is read for its types; whether it is without fault is what the tests ask.
sources = ["--follow-imports=silent", *{modules}]
compiled = mypycify(sources, group_name="p2psub", opt_level="{level}", debug_level="0")
setup(name="compiled", py_modules=[], ext_modules=compiled)
"""
QUIET = "-Wno-misleading-indentation"
"""mypyc indents ever deeper, and gcc would spend two minutes of three on looking for what that might hide."""
ADVICE = "Without HATCH_BUILD_HOOK_ENABLE_CUSTOM the wheel is pure Python: the same, but slower."


class CompiledModules(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel. P2PSUB_OPTIMISE is the C compiler's -O; 2 unless told."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name what came out of it; an editable install stays as it is written."""
        if version == "editable":
            return
        compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
        if shutil.which(compiler) is None:
            raise SystemExit(f"There is no C compiler {compiler!r}; install one, or name another in CC. {ADVICE}")
        self._room = TemporaryDirectory(prefix="p2psub-wheel-")
        sources, out = Path(self._room.name, "sources"), Path(self._room.name, "compiled")
        for package in self.build_config.packages:
            shutil.copytree(Path(self.root, package), sources / package, ignore=shutil.ignore_patterns("__pycache__"))
        _compile(sources, out, self._modules(sources))
        made = [path for suffix in ("*.so", "*.pyd") for path in out.rglob(suffix)]
        build_data["force_include"].update({str(path): str(path.relative_to(out)) for path in sorted(made)})
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind but the wheel."""
        if version != "editable":
            self._room.cleanup()

    def _modules(self, sources: Path) -> list[str]:
        """What is to be compiled; a pattern that fits nothing is a mistake."""
        named: set[str] = set()
        for pattern in self.config["modules"]:
            found = {path.relative_to(sources).as_posix() for path in sources.glob(pattern)}
            if not found:
                raise SystemExit(f"pyproject.toml: there is no module {pattern!r} to compile; was it renamed?")
            named |= found
        return sorted(module for module in named if not module.endswith("__init__.py"))


def _compile(sources: Path, out: Path, modules: list[str]) -> None:
    level = os.environ.get("P2PSUB_OPTIMISE", "2")
    (sources / "setup.py").write_text(SETUP.format(modules=modules, level=level), encoding="utf-8")
    command = [sys.executable, "setup.py", "build_ext", "--build-lib", str(out), "--build-temp", str(out.parent)]
    env = os.environ | {"CFLAGS": f"{QUIET} {os.environ.get('CFLAGS', '')}"}
    ran = subprocess.run(
        command, cwd=sources, env=env, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if ran.returncode:
        raise SystemExit(f"{ran.stdout}\nThe modules could not be compiled; the last lines say why. {ADVICE}")
