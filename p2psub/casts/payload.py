"""What a cast carries, and what it means to a cluster: all that a cast knows of content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId, ClusterId
from p2psub.model.messages.casts import CastRequest, Summary


class Payload(Protocol):
    """What a cast carries."""

    @property
    def wants_answer(self) -> bool:
        """Whether the root waits for answers; otherwise every message is said once."""
        ...

    @property
    def stops(self) -> Sequence[ClusterId]:
        """The clusters that it is for, if it may enter a half at any; none if it goes from neighbour to neighbour."""
        ...

    def aged(self, by_us: int) -> Payload:
        """The same after so much waiting."""
        ...

    def repeated(self) -> Payload:
        """The same for those who may have had it before."""
        ...

    def restrict(self, half: Prefix) -> Payload | None:
        """The part of it that concerns a half; None if it concerns no cluster there."""
        ...

    def has_part_in(self, prefix: Prefix) -> bool:
        """Whether it concerns the cluster that owns `prefix`."""
        ...

    def merge(self, summaries: Iterable[Summary]) -> Summary:
        """One summary out of those of the parts; out of none, the empty one."""
        ...

    def is_decided_by(self, part: Summary) -> bool:
        """Whether the answer of one part decides, so that the others need not be awaited."""
        ...

    def request(self, id_: CastId, subcube: Prefix, hops: int) -> CastRequest:
        """The message that asks its receiver to cover a subcube with it."""
        ...


class Local(Protocol):
    """What a payload means to this cluster; `answer_locally` is called in its own time."""

    def take(self, cast: CastId, payload: Payload, part: Prefix) -> None: ...

    def has_time(self, payload: Payload, open_ticks: int, open_us: int) -> bool:
        """Whether an answer still matters after a cast was open for so long."""
        ...
