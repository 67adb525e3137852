"""The rows that one event satisfies: what `candidates` does for a batch, without what only pays for many."""

from __future__ import annotations

import math
from array import array

import numpy as np

from p2psub.matching.buckets import Bucket, Buckets, RowNumber
from p2psub.matching.conjunctions import Conjunctions
from p2psub.matching.homes import Attribute
from p2psub.matching.kernel import RowNumbers, narrow_one
from p2psub.matching.spans import KINDS_OF, position_of
from p2psub.matching.store import NO_REST, Content, Truths
from p2psub.model.content import Value


def rows_satisfied(conjunctions: Conjunctions, content: Content) -> list[RowNumber]:
    """Gathered, compared and tried."""
    truths: Truths = {}
    found = _compared(conjunctions, content, truths)
    rests, holds_all = conjunctions.rows.rests, conjunctions.store.holds_all
    satisfied: list[RowNumber] = []
    for row in found:
        rest = rests[row]
        if rest != NO_REST:
            is_true = truths.get(rest)
            if not (holds_all(rest, content, truths) if is_true is None else is_true):
                continue
        satisfied.append(row)
    return satisfied


def _compared(conjunctions: Conjunctions, content: Content, truths: Truths) -> list[RowNumber]:
    positions = [math.nan] * conjunctions.axes.width
    positions[0] = 0.0
    gathered, attributes, store = array("i"), conjunctions.filing.attributes, conjunctions.store
    for name, value in content.items():
        attribute = attributes.get(name)
        if attribute is not None:
            _look_up(attribute, value, conjunctions.present, gathered, positions)
            for number, bucket in attribute.tried.items():
                if store.holds(number, content, truths):  # type: ignore[arg-type]
                    _take(gathered, bucket)
    for number, bucket in conjunctions.lacking.items():
        if store.holds(number, content, truths):  # type: ignore[arg-type]
            _take(gathered, bucket)
    for bucket in conjunctions.always.values():
        _take(gathered, bucket)
    at = np.array(positions)
    parts: list[RowNumbers] = [np.frombuffer(gathered, np.int32)] if gathered else []
    for segment in conjunctions.bitmaps.segments:
        parts += [rows for rows, _ in segment.candidates(at[None, :])]
    if not parts:
        return []
    rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
    found: list[RowNumber] = narrow_one(conjunctions.rows.slots, at, rows).tolist()
    return found


def _look_up(
    attribute: Attribute, value: Value, present: Buckets, gathered: array[int], positions: list[float]
) -> None:
    """All rows to which the value of one attribute leads, and where it lies."""
    kind = type(value)
    equal = attribute.equal.get(kind)
    if equal:
        _take(gathered, equal.get(value))
    for axis_kind in KINDS_OF.get(kind, ()):
        axis = attribute.axes[axis_kind]
        if axis:
            positions[axis] = position_of(axis_kind, value)
            _take(gathered, present.get(axis))
    if attribute.prefixes and isinstance(value, str):
        for length in attribute.prefixes.lengths:
            if length <= len(value):
                _take(gathered, attribute.prefixes.get(value[:length]))


def _take(gathered: array[int], bucket: Bucket | None) -> None:
    if isinstance(bucket, int):
        gathered.append(bucket)
    elif bucket is not None:
        gathered.extend(bucket)
