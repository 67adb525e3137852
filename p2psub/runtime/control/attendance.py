"""Work that is only worth doing while the client is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio
from starlette.types import Receive

from p2psub.errors import P2psubError


async def while_connected(receive: Receive, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work, and cancel it when the client goes away; a refusal comes out as it is."""
    refusal: P2psubError | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_leave_with_client, receive, nursery.cancel_scope)
        try:
            await work()
        except P2psubError as error:
            refusal = error
        nursery.cancel_scope.cancel()
    if refusal is not None:
        raise refusal


async def _leave_with_client(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
