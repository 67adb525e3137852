"""How commands end: exit codes, and errors as advice, also those of a program that ran many tasks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
import typer

from p2psub.api.errors import BadContent, TooLarge
from p2psub.api.problems import Problem, ProblemResponse, problem_of
from p2psub.cli.client import PeerRefused
from p2psub.cli.endpoint import BadUsage, NoPeer
from p2psub.errors import P2psubError

EXIT_REFUSED: Final = 1
EXIT_BAD_INPUT: Final = 2
EXIT_NO_PEER: Final = 4

EXIT_CODES: Final = "Exit codes: 0 fine, 1 refused or failed, 2 bad input, 4 no peer reachable."
"""The epilog of every command that talks to a peer."""


@contextmanager
def explained(as_json: bool = False) -> Iterator[None]:
    """Say what went wrong and what to do next, to people on stderr, to programs as JSON; and end with the exit code.

    Only of our own errors, and of groups of nothing else: what we did not foresee shows its traceback.
    """
    try:
        yield
    except P2psubError as error:
        _say(error, as_json)
        raise typer.Exit(exit_code_of(error)) from error
    except BaseExceptionGroup as group:
        ours, others = group.split(P2psubError)
        if ours is None or others is not None:
            raise
        several = list(_leaves(ours))
        for one in several:
            _say(one, as_json)
        raise typer.Exit(exit_code_of(several[0])) from group


def _say(error: P2psubError, as_json: bool) -> None:
    problem = problem_in(error)
    if as_json:
        print(json.dumps(msgspec.to_builtins(ProblemResponse(problem))), flush=True)
    else:
        print(f"p2psub: {problem_text(problem)}", file=sys.stderr)


def _leaves(group: BaseExceptionGroup[P2psubError]) -> Iterator[P2psubError]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def exit_code_of(error: P2psubError) -> int:
    """The exit code for an error."""
    if isinstance(error, NoPeer):
        return EXIT_NO_PEER
    is_input = isinstance(error, BadUsage | BadContent | TooLarge)
    if is_input or (isinstance(error, PeerRefused) and error.is_input):
        return EXIT_BAD_INPUT
    return EXIT_REFUSED


def problem_in(error: P2psubError) -> Problem:
    """What an error says; what a peer refused in the peer's own words."""
    return error.problem if isinstance(error, PeerRefused) else problem_of(error)


def problem_text(problem: Problem) -> str:
    """A problem for people: what happened, where, what to do next."""
    place = "" if problem.caret is None else "".join(f"\n  {line}" for line in problem.caret.splitlines())
    return f"{problem.message}{place}\n  {problem.advice}" if problem.advice else f"{problem.message}{place}"
