"""Finished runs on disk, each as a file of its own: a sweep that was interrupted goes on where it was.

A run is taken from there if it was of the same trial and of the same code; comments may differ.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

import p2psub.queueing
import sims.experiments.mtep
from p2psub.whole_file import write_whole
from sims.experiments.mtep.trial import MeshResult, MeshTrial, perform


@dataclass(frozen=True, slots=True)
class Finished:
    """What a file holds."""

    code: str
    trial: MeshTrial
    result: MeshResult


@dataclass(frozen=True, slots=True)
class Work:
    """Trials of one workload, for one process, and the directory where finished ones are kept, if they are."""

    trials: tuple[MeshTrial, ...]
    directory: Path | None = None


def perform_all(work: Work) -> list[tuple[MeshTrial, MeshResult]]:
    """Run what is not finished yet, and keep each as soon as it is."""
    return [(trial, _finished(trial, work.directory)) for trial in work.trials]


def kept(trial: MeshTrial, directory: Path) -> MeshResult | None:
    """The result of a trial that is finished."""
    try:
        found = msgspec.json.decode(_file_of(trial, directory).read_bytes(), type=Finished)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return found.result if (found.trial, found.code) == (trial, code_digest()) else None


def _finished(trial: MeshTrial, directory: Path | None) -> MeshResult:
    if directory is None:
        return perform(trial)
    result = kept(trial, directory)
    if result is None:
        result = perform(trial)
        content = msgspec.json.encode(Finished(code_digest(), trial, result))
        write_whole(_file_of(trial, directory), content, mode=0o644)
    return result


def _file_of(trial: MeshTrial, directory: Path) -> Path:
    name = hashlib.blake2b(msgspec.json.encode(trial), digest_size=16).hexdigest()
    return directory / f"{name}.json"


@lru_cache
def code_digest() -> str:
    """Tells whether the experiment and the queues are the same code."""
    digest = hashlib.blake2b(digest_size=16)
    for path in _modules():
        digest.update(ast.dump(ast.parse(path.read_bytes())).encode())
    return digest.hexdigest()


def _modules() -> Iterator[Path]:
    """What decides a result: all that `perform` runs."""
    here = Path(next(iter(sims.experiments.mtep.__path__)))
    names = ("load_ways", "mesh", "outlook", "paths", "run", "trees", "trial", "workload")
    yield from (here / f"{name}.py" for name in names)
    product = Path(next(iter(p2psub.queueing.__path__)))
    yield from (*sorted(product.glob("*.py")), product.parent / "model" / "stakes.py")
