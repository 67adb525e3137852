"""Errors in words, as the control API and the commands say them. Light to import: clients need no trio."""

from __future__ import annotations

import re

from p2psub.errors import ConfigError, P2psubError
from p2psub.matching.faults import FilterError
from p2psub.runtime.control.bodies import Problem
from p2psub.runtime.refusals import Refusal


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
        case ConfigError():
            message, _, advice = str(error).partition("; ")
            return Problem(reason=reason, message=message, advice=advice)
        case _ if "\n" in str(error):
            return Problem(reason=reason, message=str(error), advice="")
        case _:
            message, _, advice = str(error).partition("; ")
            return Problem(reason=reason, message=message, advice=advice or "see how the peer is: p2psub status")
