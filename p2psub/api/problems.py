"""Errors in words, as the control API and the commands say them."""

from __future__ import annotations

import re

import msgspec

from p2psub.api.errors import Refusal
from p2psub.errors import P2psubError
from p2psub.matching.faults import FilterError


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong, and what to do next; in a filter also where, with a caret below the place."""

    reason: str
    message: str
    advice: str
    position: int | None = None
    caret: str | None = None


class ProblemResponse(msgspec.Struct, frozen=True):
    """The answer to what cannot be done."""

    error: Problem


def problem_of(error: P2psubError) -> Problem:
    """What happened and what to do next; a filter at fault is shown with the place."""
    reason = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()
    match error:
        case FilterError():
            caret = f"{error.line}\n{error.caret}"
            return Problem(
                reason=reason, message=error.message, advice=error.hint, position=error.position, caret=caret
            )
        case Refusal():
            return Problem(reason=reason, message=error.message, advice=error.advice)
        case _ if "\n" in str(error):
            return Problem(reason=reason, message=str(error), advice="")
        case _:
            message, _, advice = str(error).partition("; ")
            return Problem(reason=reason, message=message, advice=advice)
