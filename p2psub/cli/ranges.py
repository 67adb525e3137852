"""Numbers as people write them: seeds one by one, sizes by doubling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from p2psub.errors import ConfigError

NODES_MAX: Final = 1 << 26
"""Beyond this arrays of links no longer fit into the memory of a machine that one has at hand."""


def read_seeds(text: str) -> list[int]:
    """Seeds as written: '0..199', '7', or '1,5,10..12'."""
    numbers: list[int] = []
    for first, last in _parts("seeds", text, "0..199"):
        numbers.extend(range(first, last + 1))
    if not numbers:
        raise ConfigError("seeds", f"{text!r} holds no seed")
    return numbers


def read_sizes(text: str) -> list[int]:
    """Sizes as written: '100', '4..1048576' (4 doubled as long as it is no more), or '4..64,100,1000'."""
    sizes: dict[int, None] = {}
    for first, last in _parts("nodes", text, "4..1024"):
        if not 1 <= first <= last <= NODES_MAX:
            raise ConfigError("nodes", f"sizes are from 1 to {NODES_MAX:,}, the smaller one first")
        while first <= last:
            sizes[first] = None
            first *= 2  # noqa: PLW2901, doubling is what the range means
    return list(sizes)


def read_figures(field: str, text: str, low: float, high: float) -> list[float]:
    """Figures as written, each once and within bounds: '0.5,1,2'."""
    figures: dict[float, None] = {}
    for part in text.split(","):
        try:
            figure = float(part)
        except ValueError:
            raise ConfigError(field, f"{part!r} is not a number") from None
        if not low <= figure <= high:
            raise ConfigError(field, f"{part.strip()} is not between {low:g} and {high:g}")
        figures[figure] = None
    return list(figures)


def read_numbers(field: str, text: str) -> tuple[int, ...]:
    """Numbers one by one: '1,64,1000'."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise ConfigError(field, f"{text!r} is not a list of numbers; try 1,64,1000") from error


def _parts(field: str, text: str, example: str) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        if not first.isdecimal() or (dots and not last.isdecimal()):
            raise ConfigError(field, f"{part!r} is neither a number nor a range like {example}")
        yield int(first), int(last if dots else first)
