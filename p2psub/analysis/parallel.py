"""Several questions under way at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 4
"""Of small traces most time goes into planning, which waits for no other query."""


def ask_at_once(questions: Mapping[str, Callable[[], T]]) -> Iterator[tuple[str, T]]:
    """The name and the answer of each, as they come."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = {pool.submit(question): name for name, question in questions.items()}
        try:
            for answered in as_completed(asked):
                yield asked[answered], answered.result()
        finally:
            # If one fails, or a person gives up, the others are not even begun.
            pool.shutdown(wait=False, cancel_futures=True)
