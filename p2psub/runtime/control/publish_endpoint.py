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
from p2psub.api.problems import ProblemResponse, problem_of
from p2psub.api.schemas import (
    MANY_BYTES_MAX,
    NDJSON,
    REQUEST_BYTES_MAX,
    PublishRequest,
    PublishResponse,
    draft_of,
    publish_response,
)
from p2psub.errors import P2psubError
from p2psub.model.content import Draft
from p2psub.model.outcomes import PublishOutcome
from p2psub.runtime.control.attendance import while_connected
from p2psub.runtime.control.peer_protocol import PeerProtocol
from p2psub.runtime.control.requests import Gate, body_of, read_request
from p2psub.runtime.control.responses import JsonResponse

BATCH_EVENTS: Final = 512
"""Lines that are published together: enough to share frames and signatures, few enough to see progress. A guess."""

Answer = PublishResponse | P2psubError
"""What became of one draft."""

_lines = msgspec.json.Encoder()


class PublishEndpoint:
    """The endpoint."""

    def __init__(self, peer: PeerProtocol, gate: Gate) -> None:
        self._peer = peer
        self._gate = gate

    async def publish(self, request: Request) -> Response:
        """Answer with the outcome once the overlay is responsible."""
        self._gate.pass_joined()
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() == NDJSON:
            return _ManyOutcomes(self._peer, await body_of(request, MANY_BYTES_MAX))
        draft = draft_of(read_request(PublishRequest, await body_of(request, REQUEST_BYTES_MAX)))
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

    def __init__(self, peer: PeerProtocol, body: bytes) -> None:
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
        if len(line) > REQUEST_BYTES_MAX:
            raise TooLarge(f"the line has more than {REQUEST_BYTES_MAX:,} bytes", "publish smaller events")
        return draft_of(read_request(PublishRequest, line))
    except P2psubError as error:
        return error


def _batches(drafts: Iterator[Draft | P2psubError]) -> Iterator[list[Draft | P2psubError]]:
    while batch := list(islice(drafts, BATCH_EVENTS)):
        yield batch


async def _publish_sound(peer: PeerProtocol, batch: Sequence[Draft | P2psubError]) -> list[Answer]:
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


async def _publish_into(answers: list[Answer], peer: PeerProtocol, drafts: Sequence[Draft]) -> None:
    if drafts:
        answers.extend(map(_answer_of, drafts, await peer.publish_many(drafts)))


def _answer_of(draft: Draft, outcome: PublishOutcome) -> Answer:
    return publish_response(outcome) if outcome.refused is None else why_not_taken(draft.topic, outcome.refused)


def _line_of(answer: Answer) -> PublishResponse | ProblemResponse:
    return ProblemResponse(problem_of(answer)) if isinstance(answer, P2psubError) else answer
