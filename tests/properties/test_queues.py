"""A link's queue beside the paper's formulas: what it chooses and what it drops is what they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from p2psub.model.instants import Micros
from p2psub.model.reasons import Reason
from p2psub.model.stakes import LinkEstimate, Stake, Waiting
from p2psub.queueing.link_queue import LinkQueue
from p2psub.queueing.sizes import MeanSize
from p2psub.queueing.timeless import BEHIND_US_MAX
from tests.oracles.earnings import StraightQueue

BEGIN: Final = 1_000_000_000_000
"""Eleven days after the machine started."""

prices = st.integers(0, 80).map(lambda twentieths: twentieths * 50_000)
links = st.builds(LinkEstimate, st.sampled_from([0.0, 10.0, 3_000.0, 60_000.0]), st.sampled_from([0.0, 5.0, 20_000.0]))
stakes = st.builds(
    Stake,
    due_us=st.one_of(st.sampled_from([20_000_000, 40_000_000]), st.none(), st.integers(1_000, 60_000_000)),
    price=prices,
    penalty=prices,
    mean_us_per_kb=st.sampled_from([0.0, 40.0, 60_000.0, 250_000.0]),
    variance=st.sampled_from([0.0, 100.0, 20_000.0**2, 5 * 20_000.0**2]),
    fixed_us=st.sampled_from([0, 22_000]),
)
events = st.builds(
    Waiting,
    item=st.just(0),
    size_bytes=st.sampled_from([50_000, 1, 200, 90_000]),
    since_us=st.just(0),
    expires_us=st.one_of(st.none(), st.integers(1_000, 90_000_000)),
    stakes=st.lists(stakes, max_size=4).map(tuple),
).filter(lambda event: event.is_pressed)
"""Instants count from the push."""
spans = st.one_of(st.just(0), st.integers(1, 5_000), st.integers(1, 3_000_000), st.integers(1, 30_000_000))
steps = st.one_of(
    st.tuples(st.just("push"), st.lists(events, min_size=1, max_size=6)),
    st.tuples(st.just("pop"), spans),
    st.tuples(st.just("wait"), spans),
    st.tuples(st.just("estimate"), links),
)


@dataclass
class Both:
    """The queue and the straight one, in one time."""

    link: LinkEstimate
    weight: float
    epsilon: float
    now: int = BEGIN
    pushed: int = 0
    sizes: MeanSize = field(default_factory=MeanSize)
    debt_bytes: int = 0
    """What must go by priority before the next goes because a pair of it, which may have it whenever, waited long."""

    def __post_init__(self) -> None:
        self.queue: LinkQueue[int] = LinkQueue("mtep", self.link, weight=self.weight, epsilon=self.epsilon)
        self.straight = StraightQueue(self.link, self.weight, self.epsilon)

    def push(self, event: Waiting[int]) -> None:
        """The event, with its instants counted from now on."""
        self.pushed += 1
        event = replace(
            event,
            item=self.pushed,
            since_us=Micros(self.now),
            expires_us=None if event.expires_us is None else Micros(self.now + event.expires_us),
            stakes=tuple(
                replace(stake, due_us=None if stake.due_us is None else Micros(self.now + stake.due_us))
                for stake in event.stakes
            ),
        )
        self.sizes.note(event.size_bytes)
        self.queue.push(event, Micros(self.now))
        self.straight.waiting.append(event)

    def expire(self, *, by_estimate: bool = True) -> None:
        """Both drop the same."""
        unsent = self.queue.expire(Micros(self.now), by_estimate=by_estimate)
        over = [event for event in self.straight.waiting if self.straight.is_over(event, self.now)]
        assert sorted(one.waiting.item for one in unsent if one.reason is Reason.EXPIRED) == [one.item for one in over]
        expired = self.straight.expired(self.now) if by_estimate else over
        assert sorted(one.waiting.item for one in unsent) == [event.item for event in expired]
        self.straight.waiting = [event for event in self.straight.waiting if event not in expired]
        assert len(self.queue) == len(self.straight.waiting)

    def pop(self) -> None:
        """Both choose the same."""
        if self.straight.waiting:
            postponed_us = self.sizes.mean_bytes / 1000 * self.link.mean_us_per_kb
            first = self.overdue() or self.straight.first(self.now, postponed_us)
            self.debt_bytes = 3 * first.size_bytes if self.overdue() else max(0, self.debt_bytes - first.size_bytes)
            assert self.queue.pop(Micros(self.now)).item == first.item
            self.straight.waiting.remove(first)

    def overdue(self) -> Waiting[int] | None:
        """The first that may have to wait for ever by priority, if its turn has come all the same."""
        patient = [
            event
            for event in self.straight.waiting
            if event.expires_us is None and any(stake.due_us is None for stake in event.stakes)
        ]
        is_due = patient and not self.debt_bytes and self.now - patient[0].since_us >= BEHIND_US_MAX
        return patient[0] if is_due else None

    def estimate(self, link: LinkEstimate) -> None:
        """The link became faster or slower."""
        self.link = self.straight.link = link
        self.queue.estimate(link)


@settings(max_examples=150)
@given(links, st.sampled_from([0.0, 0.4, 0.8, 1.0]), st.sampled_from([0.0, 0.04, 0.3]), st.lists(steps, max_size=40))
def test_choice_and_expired_are_those_of_the_formulas(
    link: LinkEstimate, weight: float, epsilon: float, taken: list[tuple[str, object]]
) -> None:
    """MTEP 2.3 and 2.4, formulas 2 to 14: whatever comes, goes, passes and is learned about the link."""
    both = Both(link, weight, epsilon)
    for step, what in taken:
        match what:
            case LinkEstimate():
                both.estimate(what)
            case list():
                for event in what:
                    both.push(event)
            case int():
                both.now += what
                if step == "pop":
                    both.expire()
                    both.pop()
                else:
                    both.expire(by_estimate=what % 2 == 0)
    while both.straight.waiting:
        both.expire()
        both.pop()
    assert not both.queue


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), st.sampled_from([1, 30, 100]), st.sampled_from([5_000.0, 60_000.0, 400_000.0]))
def test_a_line_that_is_always_busy_chooses_by_the_formulas(seed: int, length: int, mean_us_per_kb: float) -> None:
    """While what waits becomes urgent and then late, sizes change for good, and the line too: each choice is right."""
    rng = Random(seed)
    link = LinkEstimate(mean_us_per_kb, mean_us_per_kb / 3)
    both = Both(link, 0.4, 0.04)
    sizes = [20_000, 50_000, 80_000]
    for number in range(2 * length + 60):
        both.push(drawn(rng, sizes))
        if number < length:
            continue
        if number % 37 == 0:
            sizes = [rng.choice([1_000, 9_000, 90_000])]
        if number % 41 == 0:
            both.estimate(LinkEstimate(mean_us_per_kb * rng.choice([0.5, 1.5]), link.deviation_us_per_kb))
        both.expire(by_estimate=rng.random() < 0.9)
        both.pop()
        if rng.random() < 0.8:
            both.now += int(sizes[0] / 1000 * mean_us_per_kb * rng.random() * 2)


def drawn(rng: Random, sizes: list[int]) -> Waiting[int]:
    """A message of the paper's experiment, of three pairs at most."""
    drawn_stakes = [
        Stake(
            Micros(rng.choice([20, 24, 30, 40, 60]) * 1_000_000),
            rng.choice([1_000_000, 1_500_000, 3_000_000]),
            rng.choice([0, 100_000, 2_000_000]),
            hops * 60_000.0,
            hops * 20_000.0**2,
            hops * 2_000 + 20_000,
        )
        for hops in rng.choices(range(6), k=rng.randint(1, 3))
    ]
    return Waiting(0, rng.choice(sizes), Micros(0), stakes=tuple(drawn_stakes))
