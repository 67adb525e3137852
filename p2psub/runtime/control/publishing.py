"""`POST /v1/publish`: one event as JSON, or many as lines of JSON, each answered by a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from p2psub.api.errors import TooLarge, why_not_taken
from p2psub.api.problems import ProblemSay, problem_of
from p2psub.api.schemas import ASK_BYTES_MAX, MANY_BYTES_MAX, NDJSON, OutcomeSay, PublishRequest, draft_of, outcome_say
from p2psub.errors import P2psubError
from p2psub.model.content import Draft
from p2psub.model.outcomes import PublishOutcome
from p2psub.runtime.control.asking import Gate, body_of, read_ask
from p2psub.runtime.control.attendance import while_connected
from p2psub.runtime.control.controlled import ControlledPeer
from p2psub.runtime.control.problems import JsonResponse

BATCH_EVENTS: Final = 512
"""Lines that are published together: enough to share frames and signatures, few enough to see progress. A guess."""

Answer = OutcomeSay | P2psubError
"""What became of one draft."""

_lines = msgspec.json.Encoder()


class Publishing:
    """The endpoint."""

    def __init__(self, peer: ControlledPeer, gate: Gate) -> None:
        self._peer = peer
        self._gate = gate

    async def publish(self, request: Request) -> Response:
        """Answer with the outcome once the overlay is responsible."""
        self._gate.pass_joined()
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() == NDJSON:
            return _ManyOutcomes(self._peer, await body_of(request, MANY_BYTES_MAX))
        draft = draft_of(read_ask(PublishRequest, await body_of(request, ASK_BYTES_MAX)))
        answers: list[Answer] = []
        await while_connected(request.receive, partial(_publish_into, answers, self._peer, [draft]))
        if not answers:
            return Response()  # The client has left.
        [answer] = answers
        if isinstance(answer, P2psubError):
            raise answer
        return JsonResponse(answer)


class _ManyOutcomes(Response):
    """One line for each line of the request, in its order, as far as the client stays."""

    def __init__(self, peer: ControlledPeer, body: bytes) -> None:
        super().__init__(media_type=NDJSON)
        del self.headers["content-length"]
        self._peer = peer
        self._drafts = (_read_line(line) for line in body.splitlines() if line.strip())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await while_connected(receive, partial(self._answer, send))

    async def _answer(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for batch in _batches(self._drafts):
            lines = [_line_of(answer) for answer in await _publish_sound(self._peer, batch)]
            await send({"type": "http.response.body", "body": _lines.encode_lines(lines), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _read_line(line: bytes) -> Draft | P2psubError:
    try:
        if len(line) > ASK_BYTES_MAX:
            raise TooLarge(f"the line has more than {ASK_BYTES_MAX:,} bytes", "publish smaller events")
        return draft_of(read_ask(PublishRequest, line))
    except P2psubError as error:
        return error


def _batches(drafts: Iterator[Draft | P2psubError]) -> Iterator[list[Draft | P2psubError]]:
    while batch := list(islice(drafts, BATCH_EVENTS)):
        yield batch


async def _publish_sound(peer: ControlledPeer, batch: Sequence[Draft | P2psubError]) -> list[Answer]:
    """Publish what are drafts; the others are answered by what is wrong with them."""
    sound = [draft for draft in batch if isinstance(draft, Draft)]
    answers: list[Answer] = []
    try:
        await _publish_into(answers, peer, sound)
    except P2psubError:
        # Raised before anything was published, and it does not say which one it is about.
        for draft in sound:
            try:
                await _publish_into(answers, peer, [draft])
            except P2psubError as error:
                answers.append(error)
    in_order = iter(answers)
    return [next(in_order) if isinstance(line, Draft) else line for line in batch]


async def _publish_into(answers: list[Answer], peer: ControlledPeer, drafts: Sequence[Draft]) -> None:
    if drafts:
        answers.extend(map(_answer_of, drafts, await peer.publish_many(drafts)))


def _answer_of(draft: Draft, outcome: PublishOutcome) -> Answer:
    return outcome_say(outcome) if outcome.refused is None else why_not_taken(draft.topic, outcome.refused)


def _line_of(answer: Answer) -> OutcomeSay | ProblemSay:
    return ProblemSay(problem_of(answer)) if isinstance(answer, P2psubError) else answer
