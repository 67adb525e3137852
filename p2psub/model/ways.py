"""How long messages take beyond a link, as super-nodes tell each other: the sums of MTEP 2.1.2, hop by hop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import msgspec

from p2psub.model.ids import ClusterId, NodeId

WAYS_TOLD_MAX: Final = 32
"""In one message."""

UNCUT_BYTES: Final = 1 << 40
"""More than any message has: it need not be cut."""

_MOVED: Final = 0.1
"""Less is not worth telling."""
_MOVED_US_MIN: Final = 1_000
_FIGURE_MAX: Final = 1 << 62
_Figure = Annotated[int, msgspec.Meta(ge=0, le=_FIGURE_MAX)]


class Way(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Links one after the other. Delays are normal, so means and variances add up."""

    mean_us_per_kb: _Figure = 0
    variance: _Figure = 0
    """In (µs per KB) squared."""
    fixed_us: _Figure = 0
    """What does not depend on the size: half of each round trip, and what is under way already."""
    is_old: bool = False
    """Whether any of it was not measured or told of late: nothing is given up by it."""

    def and_then(self, other: Way) -> Way:
        """This way, and the other after it."""
        # A liar may say the largest figure that a message can carry: what we add to it must be told on, too.
        return Way(
            min(_FIGURE_MAX, self.mean_us_per_kb + other.mean_us_per_kb),
            min(_FIGURE_MAX, self.variance + other.variance),
            min(_FIGURE_MAX, self.fixed_us + other.fixed_us),
            self.is_old or other.is_old,
        )

    def has_moved(self, since: Way) -> bool:
        """Whether it is noticeably another than it was."""
        least, most = sorted((self.mean_us_per_kb, since.mean_us_per_kb))
        few, many = sorted((self.fixed_us, since.fixed_us))
        low, high = sorted((self.variance, since.variance))
        return (
            self.is_old != since.is_old
            or most - least > _MOVED * most
            or high - low > 2.0 * _MOVED * high
            or many - few > max(_MOVED * many, _MOVED_US_MIN)
        )


NO_WAY: Final = Way()
"""Of which nothing is known, or which takes no time."""

PartBytes = Callable[[NodeId, ClusterId | None], int]
"""How much may go in one message over a link, to its other end or on to a cluster."""

WayTo = tuple[ClusterId, Way]
"""To the super-node of a cluster, and on to its subscribers."""
