"""What `p2psub bench earning` showed: what each policy earned on the same load, and how it compares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

import msgspec

from p2psub.bench.report import BenchSettings
from p2psub.config import Discipline

MTEP: Discipline = "mtep"


class EarningSettings(BenchSettings, frozen=True, kw_only=True):
    """Under which conditions policies were compared."""

    clusters: int
    """One peer each; the first one publishes."""
    subscriptions: int
    seconds: float
    link_bytes_per_s: float
    """Of every line between two clusters, each way."""
    load: float
    """Bytes offered, to what a line carries, if every event is wanted behind it."""
    rate_per_s: float


class EarningResult(msgspec.Struct, frozen=True, kw_only=True):
    """One policy on the load of one seed. Counts are of pairs of event and subscription."""

    policy: Discipline
    seed: int
    published: int
    matched: int
    on_time: int
    expired: int
    """Ended unsent or unheard: too late, or without a chance."""
    late: int
    """Handed over after the deadline."""
    earned: float
    penalties: float
    earning: float
    """What was earned, less the penalties."""
    link_busy_share: float
    """Of the line that carried most, while events were published."""
    committed_ms_p99: float
    """What senders had under way, kernel included, as time of the line; of the line where that was most."""
    heartbeat_ms_p99: float
    """From the sender's step to the receiver's reader, over all lines."""
    content_copies: float
    """How often a body came over a line."""
    violations: int
    """Late, doubled, handed over to whom it does not match, expired though there was time, or without an end."""

    @property
    def success(self) -> float:
        """Of all pairs, those in time."""
        return self.on_time / self.matched


class EarningRatio(msgspec.Struct, frozen=True, kw_only=True):
    """How many times what a policy earns, and hands over in time, mtep does, over the seeds."""

    rate: float
    """Events a second."""
    policy: Discipline
    earning_mean: float | None
    """None if the policy earned nothing in some run."""
    earning_sd: float | None
    success_mean: float | None
    success_sd: float | None


class EarningReport(msgspec.Struct, frozen=True, kw_only=True):
    """All policies."""

    results: tuple[EarningResult, ...]
    ratios: tuple[EarningRatio, ...]
    settings: EarningSettings

    @property
    def violations(self) -> int:
        """Of all runs."""
        return sum(result.violations for result in self.results)


def earning_ratios(results: Sequence[EarningResult], rate: float) -> Iterator[EarningRatio]:
    """Mtep over each of the others, seed by seed on the same load."""
    ours = {result.seed: result for result in results if result.policy == MTEP}
    for policy in dict.fromkeys(result.policy for result in results if result.policy != MTEP):
        pairs = [(ours[other.seed], other) for other in results if other.policy == policy and other.seed in ours]
        if pairs:
            earning = _times([(our.earning, other.earning) for our, other in pairs])
            success = _times([(our.success, other.success) for our, other in pairs])
            yield EarningRatio(
                rate=rate,
                policy=policy,
                earning_mean=_mean(earning),
                earning_sd=_sd(earning),
                success_mean=_mean(success),
                success_sd=_sd(success),
            )


def _times(pairs: list[tuple[float, float]]) -> list[float] | None:
    return [our / other for our, other in pairs] if all(other > 0 for _, other in pairs) else None


def _mean(times: list[float] | None) -> float | None:
    return None if times is None else round(fmean(times), 4)


def _sd(times: list[float] | None) -> float | None:
    return None if times is None else round(stdev(times), 4) if len(times) > 1 else 0.0
