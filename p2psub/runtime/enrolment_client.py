"""How a newcomer gets its certificate from the bootstrap, and a node its next one."""

from __future__ import annotations

import os
import ssl
import time

import trio

from p2psub.api.addresses import split_address
from p2psub.errors import P2psubError, PeerFault
from p2psub.identity.enrolment import (
    EnrolGrant,
    EnrolmentMessage,
    EnrolRefused,
    EnrolRequest,
    JoinToken,
    RenewRequest,
    decode_enrolment,
    encode_enrolment,
    fingerprint_of,
    read_grant,
)
from p2psub.identity.keys import NodeKey
from p2psub.runtime.tls import ENROL_PROTOCOL, NEWCOMER_HOST, Credentials, client_context
from p2psub.wire.framing import FrameReader, frame

ENROL_S_MAX = 10.0
GRANT_BYTES_MAX = 1 << 20
"""Room for a long deny list."""

_START_IT = "start the bootstrap, or correct --bootstrap"


class EnrolmentFailed(P2psubError):
    """No certificate, and what to do about it."""


async def enrol(address: str, token: JoinToken, key: NodeKey) -> EnrolGrant:
    """Get a first certificate. Only the holder of the key of the authority that the token names hears the token."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    grant = await _ask(address, context, token.fingerprint, EnrolRequest(token.format(), key.csr()))
    return _checked(grant, token.fingerprint, token.overlay, key)


async def renew(address: str, credentials: Credentials, key: NodeKey) -> EnrolGrant:
    """Get the next certificate for the same key, from the holder of our authority's key."""
    fingerprint = fingerprint_of(credentials.ca_der)
    grant = await _ask(address, client_context(credentials), fingerprint, RenewRequest(key.csr()))
    return _checked(grant, fingerprint, credentials.overlay, key)


def _checked(grant: EnrolGrant, fingerprint: bytes, overlay: str, key: NodeKey) -> EnrolGrant:
    try:
        read_grant(grant, fingerprint, overlay, key.public_bytes, time.time())
    except PeerFault as error:
        raise EnrolmentFailed(f"the bootstrap granted what cannot be used: {error}") from error
    return grant


async def _ask(
    address: str, context: ssl.SSLContext, fingerprint: bytes, ask: EnrolRequest | RenewRequest
) -> EnrolGrant:
    host, port = split_address(address, "bootstrap")
    context.check_hostname = False
    # The fingerprint says all: the authority shows its own certificate, and no other may have signed it.
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([ENROL_PROTOCOL])
    try:
        with trio.fail_after(ENROL_S_MAX):
            tcp = await trio.open_tcp_stream(host, port)
            async with trio.SSLStream(tcp, context, server_hostname=NEWCOMER_HOST) as stream:
                await stream.do_handshake()
                if fingerprint_of(stream.getpeercert(binary_form=True) or b"") != fingerprint:
                    raise PeerFault("it is not the bootstrap of this overlay; check the address and the token")
                dialogue = Dialogue(stream, GRANT_BYTES_MAX)
                await dialogue.say(ask)
                answer = await dialogue.hear()
    except (OSError, ValueError, trio.BrokenResourceError) as error:
        raise EnrolmentFailed(f"no bootstrap answers at {address} ({_first_cause(error)}): {_START_IT}") from error
    except trio.TooSlowError as error:
        raise EnrolmentFailed(f"the bootstrap at {address} does not answer: try again, or check --bootstrap") from error
    except PeerFault as error:
        raise EnrolmentFailed(f"{address}: {error}") from error
    if isinstance(answer, EnrolRefused):
        raise EnrolmentFailed(f"the bootstrap refuses, {answer.reason}: {answer.advice}")
    if not isinstance(answer, EnrolGrant):
        raise EnrolmentFailed(f"what answers at {address} is not a bootstrap: check --bootstrap")
    return answer


def _first_cause(error: BaseException) -> str:
    """What went wrong with the first attempt: a host may have several addresses, and each failure is in a group."""
    cause = error.__cause__ or error
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    # The system's words alone: trio's name the address, which the reader has seen already.
    number = cause.errno if isinstance(cause, OSError) else None
    return os.strerror(number) if number is not None and number > 0 else str(cause)


class Dialogue:
    """Enrolment messages over a stream, one per frame, in turns."""

    def __init__(self, stream: trio.abc.Stream, bytes_max: int) -> None:
        self._stream = stream
        self._reader = FrameReader(bytes_max)
        self._payloads: list[bytes] = []

    async def say(self, message: EnrolmentMessage) -> None:
        """Send one message."""
        await self._stream.send_all(frame(encode_enrolment(message)))

    async def hear(self) -> EnrolmentMessage:
        """The next message; PeerFault if the other side hangs up or says something else."""
        while not self._payloads:
            piece = await self._stream.receive_some(4096)
            if not piece:
                raise PeerFault("it hung up")
            self._payloads += self._reader.feed(bytes(piece))
        return decode_enrolment(self._payloads.pop(0))
