"""Finished runs on disk, each as a file of its own: a sweep that was interrupted goes on where it was.

A run is taken from there if it was of the same trial and of the same code; comments may differ.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from p2psub.whole_file import write_whole

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Experiment(Generic[T, R]):
    """What runs a trial, of whatever experiment."""

    perform: Callable[[T], R]
    trial: type[T]
    result: type[R]
    modules: tuple[str, ...]
    """What decides a result, by name: all that `perform` runs. A package stands for its modules."""


class Finished(msgspec.Struct, frozen=True):
    """What a file holds."""

    code: str
    trial: msgspec.Raw
    result: msgspec.Raw


@dataclass(frozen=True, slots=True)
class Work(Generic[T, R]):
    """Trials of one workload, for one process, and the directory where finished ones are kept, if they are."""

    experiment: Experiment[T, R]
    trials: tuple[T, ...]
    directory: Path | None = None


def perform_all(work: Work[T, R]) -> list[tuple[T, R]]:
    """Run what is not finished yet, and keep each as soon as it is."""
    return [(trial, _finished(work.experiment, trial, work.directory)) for trial in work.trials]


def kept(experiment: Experiment[T, R], trial: T, directory: Path) -> R | None:
    """The result of a trial that is finished."""
    try:
        found = msgspec.json.decode(_file_of(trial, directory).read_bytes(), type=Finished)
        is_same = msgspec.json.decode(found.trial, type=experiment.trial) == trial
        if not is_same or found.code != code_digest(experiment.modules):
            return None
        return msgspec.json.decode(found.result, type=experiment.result)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _finished(experiment: Experiment[T, R], trial: T, directory: Path | None) -> R:
    if directory is None:
        return experiment.perform(trial)
    result = kept(experiment, trial, directory)
    if result is None:
        result = experiment.perform(trial)
        told = (msgspec.Raw(msgspec.json.encode(one)) for one in (trial, result))
        content = msgspec.json.encode(Finished(code_digest(experiment.modules), *told))
        write_whole(_file_of(trial, directory), content, mode=0o644)
    return result


def _file_of(trial: T, directory: Path) -> Path:
    name = hashlib.blake2b(msgspec.json.encode(trial), digest_size=16).hexdigest()
    return directory / f"{name}.json"


@lru_cache
def code_digest(modules: tuple[str, ...]) -> str:
    """Tells whether modules are the same code."""
    digest = hashlib.blake2b(digest_size=16)
    for name in modules:
        for path in _files_of(name):
            digest.update(ast.dump(ast.parse(path.read_bytes())).encode())
    return digest.hexdigest()


def _files_of(name: str) -> Iterator[Path]:
    spec = find_spec(name)
    assert spec is not None, name
    if spec.submodule_search_locations is not None:
        yield from sorted(Path(next(iter(spec.submodule_search_locations))).glob("*.py"))
    else:
        assert spec.origin is not None, name
        # What is compiled lies beside its source.
        yield Path(spec.origin).parent / f"{name.rpartition('.')[2]}.py"
