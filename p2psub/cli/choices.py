"""Options that choose among names."""

from __future__ import annotations

import enum
from typing import TypeVar, get_args

from p2psub.config import Discipline
from p2psub.errors import ConfigError

E = TypeVar("E", bound=enum.StrEnum)


def each_of(kind: type[E], field: str, text: str) -> list[E]:
    """Names as written, each once."""
    return list(dict.fromkeys(one_of(kind, field, part.strip()) for part in text.split(",")))


def one_of(kind: type[E], field: str, text: str) -> E:
    """The member of this name, or an error that lists them."""
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(field, f"{text!r} is not a valid value; choose from {', '.join(kind)}") from None


def read_policies(text: str) -> list[Discipline]:
    """Policies of a queue as written, each once: 'fcfs,mtep'."""
    chosen: list[Discipline] = []
    known: tuple[Discipline, ...] = get_args(Discipline)
    for name in dict.fromkeys(part.strip() for part in text.split(",")):
        found = [policy for policy in known if policy == name]
        if not found:
            raise ConfigError("policies", f"{name!r} is not a valid value; choose from {', '.join(sorted(known))}")
        chosen += found
    return chosen
