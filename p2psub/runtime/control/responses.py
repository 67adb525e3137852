"""Errors as answers: every refusal becomes a status code and a problem that says what to do next."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from p2psub.api.errors import BadContent, NotAuthorized, NotReady, NotTaken, TooLarge
from p2psub.api.problems import Problem, ProblemResponse, problem_of
from p2psub.errors import P2psubError
from p2psub.matching.faults import FilterError

logger = logging.getLogger(__name__)

_STATUS: Final[dict[type[P2psubError], HTTPStatus]] = {
    BadContent: HTTPStatus.BAD_REQUEST,
    FilterError: HTTPStatus.BAD_REQUEST,
    NotAuthorized: HTTPStatus.FORBIDDEN,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    NotReady: HTTPStatus.SERVICE_UNAVAILABLE,
    NotTaken: HTTPStatus.SERVICE_UNAVAILABLE,
}
_ADVICE: Final = {
    HTTPStatus.NOT_FOUND: "GET /openapi.json lists what there is",
    HTTPStatus.METHOD_NOT_ALLOWED: "GET /openapi.json says which methods a path takes",
}


class JsonResponse(Response):
    """Any msgspec struct as JSON."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """The bytes of the answer."""
        return msgspec.json.encode(content)


def problem_response(status: int, problem: Problem) -> JsonResponse:
    """A problem with its status code."""
    headers = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else None
    return JsonResponse(ProblemResponse(problem), status_code=status, headers=headers)


def status_of(error: P2psubError) -> HTTPStatus:
    """400 for what is written wrongly, 413, 503, and 403 for what the overlay does not want."""
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            return status
    return HTTPStatus.FORBIDDEN


async def answer_refusal(_: Request, error: Exception) -> Response:
    """What was asked for is refused."""
    assert isinstance(error, P2psubError)
    return problem_response(status_of(error), problem_of(error))


async def answer_http(request: Request, error: Exception) -> Response:
    """No such path or method."""
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    problem = Problem(
        reason=status.phrase.lower().replace(" ", "_"),
        message=f"{request.method} {request.url.path}: {error.detail}",
        advice=_ADVICE.get(status, "GET /openapi.json describes the API"),
    )
    return problem_response(status, problem)


async def answer_disconnect(_: Request, __: Exception) -> Response:
    """The client has hung up."""
    return Response()


async def answer_fault(request: Request, error: Exception) -> Response:
    """Our own fault: logged, and the peer goes on."""
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    problem = Problem(
        reason="internal", message="the peer failed to answer", advice="see the peer's log, and report what it says"
    )
    return problem_response(HTTPStatus.INTERNAL_SERVER_ERROR, problem)


ANSWERS: Final = {
    P2psubError: answer_refusal,
    HTTPException: answer_http,
    ClientDisconnect: answer_disconnect,
    Exception: answer_fault,
}
"""What to answer to which error."""
