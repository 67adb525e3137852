"""The compiled wheel, built once for one state of its sources: that takes minutes."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPILER = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
PACKAGES = ("p2psub", "bootstrap", "sims")
BUILD = ("pyproject.toml", "hatch_build.py")
TOOLS = ("mypy", "setuptools", "hatchling")
SETTINGS = {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true", "P2PSUB_OPTIMISE": "1"}
"""Simulates as fast as what `make wheel` makes, and takes less long to build."""


def compiled_packages(cache: Path) -> Path:
    """A directory with what the compiled wheel holds; it is built unless the cache has it.

    Processes that ask at the same time wait for the one that builds.
    """
    if shutil.which(COMPILER) is None:
        pytest.skip(f"there is no C compiler {COMPILER!r}")
    packages = cache / digest_of_sources()
    with _alone(cache / "lock"):
        if not packages.exists():
            for older in cache.glob("*/"):
                shutil.rmtree(older)
            # Named when it is whole: a build that was interrupted is not taken for one.
            _build(cache / "unfinished").rename(packages)
            shutil.rmtree(cache / "unfinished")
    return packages


def digest_of_sources() -> str:
    """A name for everything that the wheel is made of, and for what makes it."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((sys.version, COMPILER, [version(tool) for tool in TOOLS])).encode())
    for path in (*(ROOT / name for name in BUILD), *_sources()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    for package in PACKAGES:
        files = (path for path in sorted((ROOT / package).rglob("*")) if path.is_file())
        yield from (path for path in files if "__pycache__" not in path.parts)


def _build(place: Path) -> Path:
    """Make a new wheel in this directory; where its packages are."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(place)]
    built = subprocess.run(command, cwd=ROOT, env=os.environ | SETTINGS, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(place / "packages")
    return place / "packages"


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Only one process at a time is inside the block."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
