"""What an overlay carries in a run, and what is done to it meanwhile: subscribe, publish, kill, wait for the rest."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from random import Random

import trio

from p2psub.api.schemas import EventItem, StreamLine, SubscribeRequest, request_of
from p2psub.api.values import values_from_json
from p2psub.demo.controls import Controls, PeerSilent
from p2psub.demo.fleet import Fleet
from p2psub.demo.market import draw_event, draw_filters
from p2psub.demo.overview import Overview, wait_settled
from p2psub.demo.parts import Parts
from p2psub.demo.plan import DemoPlan
from p2psub.demo.report import Killed
from p2psub.demo.stages import Stages, patient
from p2psub.demo.tally import DeliveryTally
from p2psub.matching.language import parse_filter
from p2psub.model.content import Draft
from p2psub.model.outcomes import VerdictStatus


class DemoTraffic:
    """The traffic of one run; `tally` counts it. A peer that is killed is taken out of `controls`."""

    def __init__(
        self, plan: DemoPlan, fleet: Fleet, controls: dict[str, Controls], stages: Stages, rng: Random
    ) -> None:
        self._plan = plan
        self._fleet = fleet
        self._controls = controls
        self._stages = stages
        self._rng = rng
        self._filters = dict(enumerate(draw_filters(rng, plan.subscriptions)))
        self.tally = DeliveryTally({number: parse_filter(text) for number, text in self._filters.items()})
        self.killed: list[Killed] = []

    # Subscribing

    async def subscribe(self, parts: Parts, listening: trio.Nursery) -> None:
        """Hold all subscriptions in `listening`; returns when all of them are stable."""
        plan = self._plan
        pending = dict(zip(self._filters, cycle(parts.subscribers), strict=False))

        async def hold(number: int, subscriber: str) -> None:
            await listening.start(self._listen, number, self._controls[subscriber])
            del pending[number]

        with (
            self._stages.stage("subscribing", plan.subscriptions),
            patient(plan.patience_s, lambda: f"{len(pending)} of {plan.subscriptions} subscriptions are not stable"),
        ):
            await self._stages.wait_all([partial(hold, *held) for held in pending.items()])

    async def _listen(self, number: int, peer: Controls, task_status: trio.TaskStatus[None]) -> None:
        is_stable = False

        def hear(line: StreamLine) -> None:
            nonlocal is_stable
            if line.event is not None:
                self._note_arrival(number, line.event)
            elif line.error is not None:
                raise PeerSilent(f"subscription {number} ended: {line.error.message}; {line.error.advice}")
            elif not is_stable and _says_stable(line):
                is_stable = True
                task_status.started()

        await peer.listen(SubscribeRequest(filter=self._filters[number]), hear)

    def _note_arrival(self, subscription: int, event: EventItem) -> None:
        content = Draft(event.topic, values_from_json(event.attributes))
        self.tally.arrived(subscription, content, trio.current_time())

    # Publishing

    async def publish(self, parts: Parts) -> None:
        """Publish at a steady rate, and kill the doomed meanwhile; returns when all has been answered, or too late."""
        plan = self._plan
        deaths = [(plan.events * (i + 1) // (plan.kills + 1), name) for i, name in enumerate(parts.doomed)]
        with self._stages.stage("publishing", plan.events):
            began_s = trio.current_time()
            async with trio.open_nursery() as nursery:
                for number in range(plan.events):
                    await trio.sleep_until(began_s + number / plan.rate_per_s)
                    for name in [name for moment, name in deaths if moment == number]:
                        await self._kill(name)
                    publisher = self._controls[self._rng.choice(parts.publishers)]
                    nursery.start_soon(self._publish_one, publisher, draw_event(self._rng, number))
                nursery.cancel_scope.deadline = trio.current_time() + plan.patience_s

    async def _publish_one(self, publisher: Controls, draft: Draft) -> None:
        self.tally.published(draft, trio.current_time())
        try:
            outcome = await publisher.publish(request_of(draft))
        except PeerSilent as error:
            self._stages.reporter.note(str(error))
        else:
            if outcome.matched is not None:
                self.tally.acknowledge(draft, outcome.matched)
                self._stages.reporter.progress(self.tally.acknowledged)

    async def _kill(self, name: str) -> None:
        ring = (await self._controls[name].status()).ring
        del self._controls[name]
        await self._fleet.kill(name)
        self.killed.append(Killed(name=name, cluster=ring.cluster or "", role=ring.role))
        self._stages.reporter.note(f"killed {name}, {ring.role} of {ring.cluster}")

    # Waiting for the rest

    async def settle(self) -> Overview:
        """Return how the overlay is when everything has arrived and is settled, or patience has ended."""
        plan, tally = self._plan, self.tally
        with self._stages.stage("settling"):
            return await wait_settled(self._controls, plan.clusters, lambda: tally.missing == 0, plan.patience_s)


def _says_stable(line: StreamLine) -> bool:
    if line.verdict is not None and line.verdict.status is VerdictStatus.REFUSED:
        raise PeerSilent(f"{line.verdict.subscription} was refused; the demo's peers should have every right")
    return line.verdict is not None and line.verdict.status is VerdictStatus.STABLE
