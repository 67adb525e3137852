"""Vectors of contiguous changes: what they have in common, and when they differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.changes import LogId
from p2psub.model.ids import ClusterId, Epoch, NodeId, Place
from p2psub.model.vectors import lowest_common, vector_digest, vector_of

STREAMS = st.builds(
    LogId,
    st.sampled_from(["a", "b", "ab", ""]).map(ClusterId),
    st.builds(
        Epoch,
        st.integers(0, 2),
        st.sampled_from([NodeId(Place(bytes([n] * 20))) for n in (0, 1)]),
        st.integers(0, (1 << 63) - 1),
    ),
)
VECTORS = st.dictionaries(STREAMS, st.integers(1, 4), max_size=5)


def changes_of(vector: dict[LogId, int]) -> set[tuple[LogId, int]]:
    """Every change below the vector."""
    return {(log, n) for log, high in vector.items() for n in range(1, high + 1)}


@given(st.lists(VECTORS, min_size=1, max_size=4))
def test_lowest_common_is_the_intersection(vectors: list[dict[LogId, int]]) -> None:
    """A change is below the common vector exactly if it is below each of them."""
    common = lowest_common([tuple(sorted(vector.items())) for vector in vectors])
    assert changes_of(dict(common)) == set.intersection(*map(changes_of, vectors))


@given(VECTORS, VECTORS)
def test_digests_differ_where_vectors_do(one: dict[LogId, int], other: dict[LogId, int]) -> None:
    """Two nodes have one digest exactly if they hold the same changes, in whatever order they learned them."""
    assert (vector_digest(vector_of(one)) == vector_digest(vector_of(other))) == (one == other)
    assert vector_of(dict(reversed(one.items()))) == vector_of(one)
