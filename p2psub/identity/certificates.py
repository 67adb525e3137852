"""Certificates: what the overlay's CA says of a node, and how all other nodes read it.

An X.509 certificate binds an Ed25519 key to a node id, its common name. A private extension holds what the id is
derived from, and the node's rights. TLS checks the chain; `read_passport` checks everything, the chain too.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal
from uuid import UUID

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.x509.oid import NameOID

from p2psub.errors import ConfigError, PeerFault
from p2psub.identity.keys import derive_node_id
from p2psub.model.ids import NodeId
from p2psub.model.rights import CERTIFICATE_BYTES_MAX, CLAIMS_BYTES_MAX, Rights

CLAIMS_OID: Final = x509.ObjectIdentifier(f"2.25.{UUID('354d19a0-1560-4a22-8901-ac7522daa0c1').int}")
"""Our private extension; a UUID needs no registry."""

NONCE_BYTES: Final = 16
OVERLAY_CHARS_MAX: Final = 63
Refusal = Literal["malformed", "foreign_ca", "not_yet_valid", "expired", "wrong_overlay", "wrong_id"]


class CertificateRefused(PeerFault):
    """The other side is not who it says it is, or no longer; `reason` is one word for counters."""

    def __init__(self, reason: Refusal, advice: str) -> None:
        super().__init__(f"certificate refused, {reason}: {advice}")
        self.reason: Final = reason


class Claims(msgspec.Struct, frozen=True, array_like=True):
    """The private extension."""

    overlay: str
    nonce: Annotated[bytes, msgspec.Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
    rights: Rights


class Passport(msgspec.Struct, frozen=True):
    """What a verified certificate says."""

    id: NodeId
    overlay: str
    public_key: bytes
    rights: Rights
    not_after_s: int
    serial: int


_claims_decoder: Final = msgspec.msgpack.Decoder(Claims)


def read_passport(certificate_der: bytes, ca_der: bytes, overlay: str, now_s: float | None) -> Passport:
    """Verify a certificate and read it; CertificateRefused says what is wrong with it. `ca_der` is trusted.

    Without `now_s` its dates do not matter: it may have been valid once.
    """
    certificate = _parse(certificate_der)
    _check_issuer(certificate, x509.load_der_x509_certificate(ca_der))
    if now_s is not None and now_s < certificate.not_valid_before_utc.timestamp():
        raise CertificateRefused("not_yet_valid", "it is valid only later; check the clocks of both sides")
    if now_s is not None and now_s > certificate.not_valid_after_utc.timestamp():
        raise CertificateRefused("expired", "its owner must renew it at the bootstrap; check the clocks of both sides")
    # From here on these are words of our own CA; yet not every certificate it signed is a node's: it signed itself.
    public_key, claims = _particulars(certificate)
    if claims.overlay != overlay:
        raise CertificateRefused("wrong_overlay", f"it is for {claims.overlay!r}, we are in {overlay!r}")
    node_id = derive_node_id(claims.overlay, claims.nonce, public_key)
    if certificate.subject != common_name(node_id.hex()):
        raise CertificateRefused("wrong_id", "its name does not follow from overlay, nonce and key; enrol again")
    not_after_s = int(certificate.not_valid_after_utc.timestamp())
    return Passport(node_id, overlay, public_key, claims.rights, not_after_s, certificate.serial_number)


def common_name(name: str) -> x509.Name:
    """The subject of a certificate: a node's id in hex, or the overlay for its CA."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def check_overlay(name: str) -> str:
    """The same name, if an overlay can be called so; else ConfigError."""
    if len(name) > OVERLAY_CHARS_MAX or not re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", name):
        advice = f"use at most {OVERLAY_CHARS_MAX} of a-z, 0-9 and '-', beginning and ending with a letter or digit"
        raise ConfigError("overlay", f"{name!r} cannot be a name; {advice}")
    return name


def _parse(certificate_der: bytes) -> x509.Certificate:
    if len(certificate_der) > CERTIFICATE_BYTES_MAX:
        raise CertificateRefused("malformed", f"{len(certificate_der)} bytes; at most {CERTIFICATE_BYTES_MAX} are read")
    try:
        return x509.load_der_x509_certificate(certificate_der)
    except (ValueError, x509.InvalidVersion) as error:
        raise CertificateRefused("malformed", f"no X.509 certificate: {error}") from error


def _check_issuer(certificate: x509.Certificate, ca: x509.Certificate) -> None:
    try:
        certificate.verify_directly_issued_by(ca)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm) as error:
        advice = "not signed by this overlay's CA, or altered since; enrol with a token of this overlay"
        raise CertificateRefused("foreign_ca", advice) from error


def _particulars(certificate: x509.Certificate) -> tuple[bytes, Claims]:
    try:
        public_key = certificate.public_key()
        extension = certificate.extensions.get_extension_for_oid(CLAIMS_OID).value
    except (ValueError, UnsupportedAlgorithm, x509.DuplicateExtension, x509.ExtensionNotFound) as error:
        raise CertificateRefused("malformed", f"no certificate of a node: {error}") from error
    if not isinstance(public_key, Ed25519PublicKey):
        raise CertificateRefused("malformed", "the key is not Ed25519; enrol with a key that p2psub made")
    assert isinstance(extension, x509.UnrecognizedExtension), "only we know our extension"
    if len(extension.value) > CLAIMS_BYTES_MAX:
        raise CertificateRefused("malformed", f"claims of {len(extension.value)} bytes")
    try:
        return public_key.public_bytes_raw(), _claims_decoder.decode(extension.value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CertificateRefused("malformed", f"unreadable claims: {error}") from error
