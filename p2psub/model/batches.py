"""Long lists in messages of bounded size: what must travel is sent in several, so that urgent ones get in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

BATCH_BYTES_MAX: Final = 256 * 1024
"""As much as a link takes at once, and a quarter of a frame."""

T = TypeVar("T")


def batches_of(
    items: Iterable[T], weight: Callable[[T], int], count_max: int, bytes_max: int = BATCH_BYTES_MAX
) -> Iterator[list[T]]:
    """The items in order, no more than so many and so heavy at a time; one that is heavier goes alone."""
    batch: list[T] = []
    total = 0
    for item in items:
        bytes_ = weight(item)
        if batch and (len(batch) >= count_max or total + bytes_ > bytes_max):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += bytes_
    if batch:
        yield batch
