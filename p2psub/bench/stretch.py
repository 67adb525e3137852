"""A stretch of time in which promised events were published: what they cost, and which promises were broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyroaring import BitMap

from p2psub.bench.ages import percentile_ms
from p2psub.bench.orders import EventRoll, Published, WorkerStatus
from p2psub.bench.promised_report import PromisedFigures
from p2psub.bench.topic_roles import TopicRoles


@dataclass(frozen=True, slots=True)
class Look:
    """All peers at one instant, and the bytes of their traces."""

    peers: tuple[WorkerStatus, ...]
    trace_bytes: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """What the publishers said of the time that was measured, and how all peers were before and after."""

    published: tuple[Published, ...]
    before: Look
    after: Look
    rss_bytes_by_minute: tuple[tuple[int, ...], ...] = ()
    """Of each peer, when it began and after each whole minute."""

    @property
    def acknowledged(self) -> int:
        """Events that are promised."""
        return sum(each.acknowledged for each in self.published)

    @property
    def span_s(self) -> float:
        """From the first publish call to the last acknowledgement or hand-over."""
        ended_ns = [each.ended_ns for each in self.published] + [peer.followed_ns for peer in self.after.peers]
        return (max(ended_ns) - min(each.began_ns for each in self.published)) / 1e9

    @property
    def rss_mb_by_minute(self) -> tuple[float, ...]:
        """Of the peer that has most in memory at the end."""
        return tuple(round(peers[self._largest] / 1e6, 1) for peers in self.rss_bytes_by_minute)

    @property
    def _largest(self) -> int:
        return max(range(len(self.after.peers)), key=lambda number: self.after.peers[number].rss_bytes)

    def figures(self, ages_ns: Mapping[int, int]) -> PromisedFigures:
        """What an event cost."""
        before, after, events = self.before.peers, self.after.peers, self.acknowledged

        def grown(name: str) -> int:
            return sum(getattr(now, name) - getattr(then, name) for now, then in zip(after, before, strict=True))

        return PromisedFigures(
            events_per_s=round(events / self.span_s, 1),
            cpu_us_per_event=round(grown("cpu_us") / events, 1),
            messages_per_event=round(grown("messages_out") / events, 3),
            bytes_per_event=round(grown("bytes_out") / events, 1),
            rows_per_event=round(grown("rows") / events, 3),
            commits_per_s=round(grown("commits") / self.span_s, 1),
            trace_bytes_per_event=round((self.after.trace_bytes - self.before.trace_bytes) / events, 1),
            latency_p50_ms=percentile_ms(ages_ns, 50),
            latency_p99_ms=percentile_ms(ages_ns, 99),
            rss_mb_start=round(before[self._largest].rss_bytes / 1e6, 1),
            rss_mb_end=round(after[self._largest].rss_bytes / 1e6, 1),
        )


def lost_of(roles: Sequence[TopicRoles], ids: Sequence[str], rolls: Sequence[EventRoll]) -> int:
    """Events that were acknowledged to their publisher, and that the subscriber to their topic did not consume."""
    consumed = [
        {publisher: BitMap.deserialize(numbers) for publisher, numbers in roll.consumed.items()} for roll in rolls
    ]
    lost = 0
    for role in roles:
        promised = BitMap.deserialize(rolls[role.publisher].acknowledged[role.topic])
        lost += promised.difference_cardinality(consumed[role.subscriber].get(ids[role.publisher], BitMap()))
    return lost
