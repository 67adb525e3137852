"""A stretch of time in which promised events were published: what they cost, and which promises were broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from p2psub.bench.bursts import p50_us, p99_us
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

    @property
    def acknowledged(self) -> int:
        """Events that are promised."""
        return sum(each.acknowledged for each in self.published)

    @property
    def span_s(self) -> float:
        """From the first publish call to the last acknowledgement or hand-over."""
        ended_ns = [each.ended_ns for each in self.published] + [peer.followed_ns for peer in self.after.peers]
        return (max(ended_ns) - min(each.began_ns for each in self.published)) / 1e9

    def figures(self, ages_ns: list[int]) -> PromisedFigures:
        """What an event cost."""
        before, after, events = self.before.peers, self.after.peers, self.acknowledged
        largest = max(range(len(after)), key=lambda number: after[number].rss_bytes)

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
            latency_p50_ms=round(p50_us(ages_ns) / 1000, 2) if ages_ns else 0.0,
            latency_p99_ms=round(p99_us(ages_ns) / 1000, 2) if ages_ns else 0.0,
            rss_mb_start=round(before[largest].rss_bytes / 1e6, 1),
            rss_mb_end=round(after[largest].rss_bytes / 1e6, 1),
        )


def lost_of(roles: Sequence[TopicRoles], ids: Sequence[str], rolls: Sequence[EventRoll]) -> int:
    """Events that were acknowledged to their publisher, and that the subscriber to their topic did not consume."""
    lost = 0
    for role in roles:
        times = rolls[role.subscriber].times_consumed.get(ids[role.publisher], b"")
        lost += sum(
            number >= len(times) or not times[number] for number in rolls[role.publisher].acknowledged[role.topic]
        )
    return lost


def duplicates_of(rolls: Sequence[EventRoll]) -> int:
    """How often a peer consumed an event that it had consumed before."""
    return sum(count - 1 for roll in rolls for times in roll.times_consumed.values() for count in times if count > 1)
