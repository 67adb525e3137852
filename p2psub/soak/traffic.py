"""What an overlay carries in a soak: publishing at a steady rate, whatever becomes of it, and books of all of it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import trio

from p2psub.api.problems import Problem
from p2psub.api.schemas import EventItem, PublishRequest, PublishResponse, StreamLine, SubscribeRequest
from p2psub.api.values import event_id_from_text
from p2psub.demo.controls import Controls, PeerSilent
from p2psub.demo.stages import ProgressReporter
from p2psub.model.content import Order
from p2psub.model.outcomes import VerdictStatus
from p2psub.soak.books import UNANSWERED, PublisherTopic, SoakBooks
from p2psub.soak.plan import PUBLISHERS, TOPICS, WISHES, SoakPlan, SoakWish

BURST_S: Final = 0.1
"""What falls into such a time is published by one call."""
CALLS_EASY: Final = 64
"""While more calls of a publisher wait for answers, larger ones follow: a peer has 256 connections for all of them."""
BURST_EVENTS_MAX: Final = 500
"""In one call: as many as a peer publishes together."""
BODY: Final = "x" * 100

_PUBLISHER: Final = "publisher"
_NUMBER: Final = "number"


class SoakTraffic:
    """The traffic of one run; `controls` are those of publishers and subscribers."""

    def __init__(self, plan: SoakPlan, controls: Mapping[str, Controls], reporter: ProgressReporter) -> None:
        self._plan = plan
        self._controls = controls
        self._reporter = reporter
        self._publishing = trio.CancelScope()
        self._waiting: Counter[str] = Counter()
        """Calls of each publisher that wait for an answer."""
        self.books = SoakBooks(PUBLISHERS, {number: wish.topics for number, wish in enumerate(WISHES)})

    # Subscribing

    async def subscribe(self, listening: trio.Nursery) -> None:
        """Hold all subscriptions in `listening`; returns when all of them are stable."""
        async with trio.open_nursery() as nursery:
            for number, wish in enumerate(WISHES):
                nursery.start_soon(listening.start, self._listen, number, wish)

    async def _listen(self, number: int, wish: SoakWish, task_status: trio.TaskStatus[None]) -> None:
        is_stable = False

        def hear(line: StreamLine) -> None:
            nonlocal is_stable
            if line.event is not None:
                self._note_arrival(number, line.event)
            elif line.gap is not None:
                self._reporter.note(f"{wish.subscriber} misses {line.gap.count} events: {line.gap.reason}")
            elif line.error is not None:
                raise PeerSilent(f"{wish.subscriber} ended {wish.filter}: {line.error.message}; {line.error.advice}")
            elif not is_stable and line.verdict is not None and line.verdict.status is VerdictStatus.STABLE:
                is_stable = True
                task_status.started()

        await self._controls[wish.subscriber].listen(SubscribeRequest(filter=wish.filter, order=Order.PUBLISHER), hear)

    def _note_arrival(self, subscription: int, event: EventItem) -> None:
        publisher, number = str(event.attributes.get(_PUBLISHER)), event.attributes.get(_NUMBER)
        stream = PublisherTopic(publisher, event.topic)
        self.books.arrive(subscription, stream, -1 if number is None else number, event_id_from_text(event.id))

    # Publishing

    async def publish(self) -> None:
        """Publish until `stop`; returns when all of it was answered, or when patience has ended."""
        async with trio.open_nursery() as calls:
            with self._publishing:
                async with trio.open_nursery() as clocks:
                    for publisher in PUBLISHERS:
                        clocks.start_soon(self._keep_rate, publisher, calls)
            calls.cancel_scope.deadline = trio.current_time() + self._plan.patience_s

    def stop(self) -> None:
        """Publish no more."""
        self._publishing.cancel()

    async def _keep_rate(self, publisher: str, calls: trio.Nursery) -> None:
        began_s, rate_per_s = trio.current_time(), self._plan.rate_per_s / len(PUBLISHERS)
        topics, published = itertools.cycle(TOPICS), 0
        for burst in itertools.count(1):
            await trio.sleep_until(began_s + burst * BURST_S)
            due = int(burst * BURST_S * rate_per_s)
            least = 1 if self._waiting[publisher] < CALLS_EASY else BURST_EVENTS_MAX
            while due - published >= least:
                # Not in turns: a call may wait for the successor of a peer that was killed.
                size = min(due - published, BURST_EVENTS_MAX)
                published += size
                streams = [PublisherTopic(publisher, topic) for topic in itertools.islice(topics, size)]
                calls.start_soon(self._publish_burst, publisher, streams)

    async def _publish_burst(self, publisher: str, streams: Sequence[PublisherTopic]) -> None:
        made = [(stream, self.books.publish(stream)) for stream in streams]
        answers: list[PublishResponse | Problem | None] = []
        self._waiting[publisher] += 1
        try:
            answers += await self._controls[publisher].publish_many([_request_of(*each) for each in made])
        except PeerSilent as error:
            self._reporter.note(str(error))
        finally:
            self._waiting[publisher] -= 1
            answers += [None] * (len(made) - len(answers))
            for (stream, number), answer in zip(made, answers, strict=True):
                self._settle(stream, number, answer)

    def _settle(self, stream: PublisherTopic, number: int, answer: PublishResponse | Problem | None) -> None:
        if isinstance(answer, PublishResponse):
            self.books.acknowledge(stream, number)
        else:
            self.books.refuse(stream, number, UNANSWERED if answer is None else _reason_of(answer, stream.topic))


def _request_of(stream: PublisherTopic, number: int) -> PublishRequest:
    attributes = {_PUBLISHER: stream.publisher, _NUMBER: number}
    return PublishRequest(topic=stream.topic, attributes=attributes, body=BODY)


def _reason_of(problem: Problem, topic: str) -> str:
    """One word: a peer names the reason after the topic that it has not taken."""
    return problem.message.removeprefix(f"{topic}: ") if problem.message.startswith(topic) else problem.reason
