"""Enrolment: how a node gets its certificate, and keeps getting it.

    newcomer -- EnrolRequest(token, csr) --> bootstrap
    newcomer <- EnrolGrant or EnrolRefused
    node ------ RenewRequest(csr) ---------> bootstrap
    node <----- EnrolGrant or EnrolRefused

A newcomer trusts no node yet, and any enrolled node could pose as the bootstrap to get hold of its token. So in the TLS
of both the bootstrap shows the CA's own certificate, whose fingerprint the token names; to renew, the node shows its
own. Asking again is harmless: the same key gets the same id.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Annotated, Final, cast

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from p2psub.errors import ConfigError, MalformedMessage, P2psubError
from p2psub.identity.certificates import (
    OVERLAY_CHARS_MAX,
    CertificateRefused,
    Passport,
    check_overlay,
    read_passport,
)
from p2psub.identity.keys import is_signed
from p2psub.model.ids import Contact, Natural, NodeId, digest_of
from p2psub.model.messages.denials import DENIED_MAX, DenyResponse
from p2psub.model.rights import CERTIFICATE_BYTES_MAX

SECRET_BYTES: Final = 20
FINGERPRINT_BYTES: Final = 20
"""160 bits, as an id: to show a false CA, an attacker would have to hit all of them."""
CHECKSUM_BYTES: Final = 5
"""Makes the last part of a token fill whole characters of base32, as the others do: one spelling per token."""
TOKEN_CHARS_MAX: Final = OVERLAY_CHARS_MAX + 100
CSR_BYTES_MAX: Final = 1024


class EnrolmentRefused(P2psubError):
    """The CA gives no certificate; `reason` is one word, `advice` what to do about it."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(f"enrolment refused, {reason}: {advice}")
        self.reason: Final = reason
        self.advice: Final = advice


class JoinToken(msgspec.Struct, frozen=True):
    """The right to enrol, and the CA to enrol with; as text `overlay.secret.fingerprint+checksum`, base32."""

    overlay: str
    secret: bytes
    fingerprint: bytes

    def format(self) -> str:
        return f"{self.overlay}.{_spell(self.secret)}.{_spell(self.fingerprint + self._checksum())}"

    @classmethod
    def parse(cls, text: str) -> JoinToken:
        """Read a token as typed by a person; ConfigError if it is mistyped."""
        overlay, secret, rest = _split(text.strip().lower())
        token = cls(overlay, secret, rest[:FINGERPRINT_BYTES])
        if token._checksum() != rest[FINGERPRINT_BYTES:]:
            raise _mistyped("a character differs")
        check_overlay(overlay)
        return token

    def names(self, ca_der: bytes) -> bool:
        """Whether this is the certificate of the CA that the token was made by."""
        return fingerprint_of(ca_der) == self.fingerprint

    def _checksum(self) -> bytes:
        return digest_of(b"join token", self.overlay.encode(), self.secret, self.fingerprint)[:CHECKSUM_BYTES]


class DenyList(msgspec.Struct, frozen=True, array_like=True):
    """Nodes to refuse although their certificates are valid, signed by the CA."""

    issued_s: Natural
    ids: Annotated[tuple[NodeId, ...], msgspec.Meta(max_length=DENIED_MAX)]
    signature: Annotated[bytes, msgspec.Meta(max_length=64)]

    def verify(self, ca_der: bytes) -> bool:
        """Whether the CA signed this list; what is not verified must not be heeded, nor compared."""
        key = x509.load_der_x509_certificate(ca_der).public_key()
        assert isinstance(key, Ed25519PublicKey), "we chose this CA"
        return is_signed(denial(self.issued_s, self.ids), self.signature, key.public_bytes_raw())

    @classmethod
    def of(cls, said: DenyResponse) -> DenyList:
        """The list that a node told."""
        return cls(said.issued_s, said.ids, said.signature)

    def as_message(self) -> DenyResponse:
        """The list as nodes tell it."""
        return DenyResponse(self.issued_s, self.ids, self.signature)

    def newer(self, other: DenyList) -> DenyList:
        """The one of two verified lists that stands."""
        return other if other.issued_s > self.issued_s else self


class EnrolRequest(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A newcomer asks for its first certificate."""

    token: Annotated[str, msgspec.Meta(max_length=TOKEN_CHARS_MAX)]
    csr: Annotated[bytes, msgspec.Meta(max_length=CSR_BYTES_MAX)]


class RenewRequest(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A node asks for its next certificate; the one it shows in TLS says who it is."""

    csr: Annotated[bytes, msgspec.Meta(max_length=CSR_BYTES_MAX)]


class EnrolGrant(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A certificate, the CA's own, where the bootstrap is as a node, and whom to refuse."""

    certificate: Annotated[bytes, msgspec.Meta(max_length=CERTIFICATE_BYTES_MAX)]
    ca: Annotated[bytes, msgspec.Meta(max_length=CERTIFICATE_BYTES_MAX)]
    bootstrap: Contact
    deny_list: DenyList


class EnrolRefused(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """No certificate: why, and what to do next."""

    reason: Annotated[str, msgspec.Meta(max_length=64)]
    advice: Annotated[str, msgspec.Meta(max_length=500)]


EnrolmentMessage = EnrolRequest | RenewRequest | EnrolGrant | EnrolRefused

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(EnrolmentMessage)


def encode_enrolment(message: EnrolmentMessage) -> bytes:
    """The payload of one frame."""
    return _encoder.encode(message)


def decode_enrolment(payload: bytes) -> EnrolmentMessage:
    """The message in a payload; else MalformedMessage."""
    try:
        return cast("EnrolmentMessage", _decoder.decode(payload))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedMessage(str(error)) from error
    except RecursionError:
        raise MalformedMessage("nested too deeply") from None


def read_grant(grant: EnrolGrant, fingerprint: bytes, overlay: str, public_key: bytes, now_s: float) -> Passport:
    """What a grant gives to the owner of this key; CertificateRefused unless it comes from the CA it was asked of."""
    if fingerprint_of(grant.ca) != fingerprint:
        raise CertificateRefused("foreign_ca", "another CA than the one we asked; check the bootstrap address")
    passport = read_passport(grant.certificate, grant.ca, overlay, now_s)
    if passport.public_key != public_key:
        raise CertificateRefused("wrong_id", "granted for a key that is not ours; enrol again")
    if not grant.deny_list.verify(grant.ca):
        raise CertificateRefused("foreign_ca", "the deny list is not signed by the CA; check the bootstrap address")
    return passport


def fingerprint_of(ca_der: bytes) -> bytes:
    """By what a token names its CA: the first 160 bits of the SHA-256 of its certificate."""
    return hashlib.sha256(ca_der).digest()[:FINGERPRINT_BYTES]


def denial(issued_s: int, ids: tuple[NodeId, ...]) -> bytes:
    """What the CA signs. Its other signatures are on certificates and in TLS, neither of which begins so."""
    return b"p2psub deny list " + _encoder.encode((issued_s, ids))


def _spell(part: bytes) -> str:
    return base64.b32encode(part).decode().lower()


def _split(text: str) -> tuple[str, bytes, bytes]:
    if not text.isascii():
        raise _mistyped("it has characters that no token has")
    try:
        overlay, secret, rest = text.split(".")
        parts = overlay, base64.b32decode(secret, casefold=True), base64.b32decode(rest, casefold=True)
    except ValueError as error:
        raise _mistyped("it must have three parts with two dots between, the last two of a-z and 2-7") from error
    if [len(part) for part in parts[1:]] != [SECRET_BYTES, FINGERPRINT_BYTES + CHECKSUM_BYTES]:
        raise _mistyped("characters are missing or too many")
    return parts


def _mistyped(how: str) -> ConfigError:
    return ConfigError("token", f"the token is mistyped, {how}; copy the whole line that `token new` printed")
