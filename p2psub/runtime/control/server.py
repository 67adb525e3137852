"""The control API on a loopback port, as long as the peer runs.

Hypercorn serves each connection; the listening is ours. Its own `serve` cannot be cancelled while some client does not
read: Hypercorn shields what it writes. Here the socket of a connection is closed when its task is cancelled, which
ends the writing too.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ASGIFramework, ConnectionState

from p2psub.api.control_files import TOKEN_FILE, URL_FILE
from p2psub.errors import ConfigError
from p2psub.runtime.control.app import control_app
from p2psub.runtime.control.peer_protocol import PeerProtocol
from p2psub.whole_file import write_whole

HOST: Final = "127.0.0.1"

CONNECTIONS_MAX: Final = 256
"""One more is closed at once. A guess: some dashboards, and a stream for each subscription of local applications."""

KEEP_ALIVE_S: Final = 60.0
"""An idle connection is the client's to give up, as ours do after 5 s: a request that meets our end is lost."""

logger = logging.getLogger(__name__)


async def serve_control(
    peer: PeerProtocol, data: Path, port: int = 0, task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED
) -> None:
    """Serve until cancelled; reports the URL, which is also in the data directory together with the token.

    Every start has a new token. Both files are gone when the serving ends.
    """
    token = secrets.token_urlsafe(32)
    try:
        listeners = await trio.open_tcp_listeners(port, host=HOST)
    except OSError as error:
        raise ConfigError("control.port", f"cannot listen on {port} ({error.strerror}); take another, or 0") from error
    url = f"http://{HOST}:{listeners[0].socket.getsockname()[1]}"
    app = ASGIWrapper(cast(ASGIFramework, control_app(peer, token)))
    serve = partial(_serve_connection, app, http_config(), trio.CapacityLimiter(CONNECTIONS_MAX))
    async with listeners[0]:
        with announced(data, url, token):
            task_status.started(url)
            await trio.serve_listeners(serve, listeners)


@contextmanager
def announced(data: Path, url: str, token: str) -> Iterator[None]:
    """Keep URL and token where clients look for them; a client that finds the URL finds the token too."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        write_whole(data / TOKEN_FILE, f"{token}\n".encode())
        write_whole(data / URL_FILE, f"{url}\n".encode())
        yield
    finally:
        (data / URL_FILE).unlink(missing_ok=True)
        (data / TOKEN_FILE).unlink(missing_ok=True)


def http_config() -> Config:
    """How Hypercorn serves."""
    config = Config()
    config.errorlog = logger
    config.include_server_header = False
    config.keep_alive_timeout = KEEP_ALIVE_S
    return config


async def _serve_connection(
    app: AppWrapper, config: Config, limiter: trio.CapacityLimiter, stream: trio.SocketStream
) -> None:
    try:
        limiter.acquire_nowait()
    except trio.WouldBlock:
        await stream.aclose()
        return
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_close_when_cancelled, stream)
            # It is declared to take a TLS stream, and tells by its methods that this is none.
            await TCPServer(app, config, WorkerContext(None), ConnectionState({}), cast(Any, stream))
            nursery.cancel_scope.cancel()
    except Exception:  # One client's connection ends; the peer goes on.
        logger.exception("a connection to the control API failed")
    finally:
        limiter.release()


async def _close_when_cancelled(stream: trio.SocketStream) -> None:
    try:
        await trio.sleep_forever()
    finally:
        stream.socket.close()
