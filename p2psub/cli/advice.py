"""Errors of ours, out of a program that runs many tasks, are advice and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from p2psub.errors import P2psubError

EXIT_CONFIG = 1


@contextmanager
def advised() -> Iterator[None]:
    """Print what our own errors advise, also out of a group of them, and end with the exit code for it."""
    try:
        yield
    except P2psubError as error:
        _say([error])
        raise typer.Exit(EXIT_CONFIG) from None
    except BaseExceptionGroup as group:
        ours, others = group.split(P2psubError)
        if ours is None or others is not None:
            raise
        _say(_leaves(ours))
        raise typer.Exit(EXIT_CONFIG) from None


def _say(errors: list[BaseException]) -> None:
    for error in errors:
        print(f"p2psub: {error}", file=sys.stderr)


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    leaves: list[BaseException] = []
    for error in group.exceptions:
        leaves += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return leaves
