"""Who this node is: enrolled on its first start, renewed every day."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import trio

from p2psub.errors import ConfigError, P2psubError, PeerFault
from p2psub.identity.certificates import Passport
from p2psub.identity.enrolment import DenyList, JoinToken, fingerprint_of, read_grant
from p2psub.identity.keys import NodeKey
from p2psub.model.ids import NodeId
from p2psub.runtime.enrolment_client import enrol, renew
from p2psub.runtime.state import Enrolment, State

LIFETIME_S = 7 * 24 * 3600.0
RENEW_EVERY_S = 24 * 3600.0
RENEW_RETRY_S = 600.0
LOOK_EVERY_S = 3600.0
"""How often the wall clock is looked at: a machine that slept must not sleep on."""

logger = logging.getLogger(__name__)


class Identity(NamedTuple):
    """Who a node is: its key, what was granted to it, and what its certificate says."""

    key: NodeKey
    enrolment: Enrolment
    passport: Passport

    @property
    def denied(self) -> frozenset[NodeId]:
        """Whom the authority told us to refuse."""
        return frozenset(self.enrolment.grant.deny_list.ids)

    def with_deny_list(self, deny_list: DenyList) -> Identity:
        """The same, with a newer list."""
        grant = msgspec.structs.replace(self.enrolment.grant, deny_list=deny_list)
        return self._replace(enrolment=msgspec.structs.replace(self.enrolment, grant=grant))

    def left_s(self, now_s: float) -> float:
        """How long the certificate is still valid."""
        return self.passport.not_after_s - now_s


async def identify(state: State, bootstrap: str | None, token: str | None) -> Identity:
    """The identity in a data directory, enrolled now if there is none or its certificate has ended."""
    with state.usable():
        key, enrolment = state.key(), state.enrolment()
    if enrolment is not None:
        try:
            return _verified(key, enrolment, time.time())
        except PeerFault as error:
            logger.warning("%s", error)
    if token is None or bootstrap is None:
        raise ConfigError("token", "this peer has no valid certificate: give --bootstrap and --token once")
    parsed = JoinToken.parse(token)
    return _kept(state, key, Enrolment(parsed.overlay, await enrol(bootstrap, parsed, key)), time.time())


async def stay_enrolled(
    state: State,
    identity: Identity,
    bootstrap: str | None,
    use: Callable[[Identity], None],
    now_s: Callable[[], float] = time.time,
) -> None:
    """Get a new certificate every day, for ever, and have it used; the bootstrap may be down for days."""
    while True:
        left_s = identity.left_s(now_s())
        wait_s = left_s - LIFETIME_S + RENEW_EVERY_S
        if wait_s > 0:
            await trio.sleep(min(wait_s + 1.0, LOOK_EVERY_S))
            continue
        try:
            renewed = await _renewed(state, identity, bootstrap, now_s())
            use(renewed)
            identity = renewed
        except (P2psubError, OSError) as error:
            logger.warning("certificate not renewed, %.0f hours left: %s", left_s / 3600, error)
        # Also after a success: by a clock that is far ahead of the bootstrap's the next one is due at once.
        await trio.sleep(RENEW_RETRY_S)


async def _renewed(state: State, identity: Identity, bootstrap: str | None, now_s: float) -> Identity:
    key, enrolment, _ = identity
    address = bootstrap or enrolment.grant.bootstrap.address
    grant = await renew(address, state.credentials(enrolment), key)
    deny_list = enrolment.grant.deny_list.newer(grant.deny_list)
    renewed = Enrolment(enrolment.overlay, msgspec.structs.replace(grant, deny_list=deny_list))
    return _kept(state, key, renewed, now_s)


def _kept(state: State, key: NodeKey, enrolment: Enrolment, now_s: float) -> Identity:
    identity = _verified(key, enrolment, now_s)
    with state.usable():
        state.keep(enrolment)
    return identity


def _verified(key: NodeKey, enrolment: Enrolment, now_s: float) -> Identity:
    grant = enrolment.grant
    passport = read_grant(grant, fingerprint_of(grant.ca), enrolment.overlay, key.public_bytes, now_s)
    return Identity(key, enrolment, passport)
