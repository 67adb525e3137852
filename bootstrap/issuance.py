"""Certificates as the overlay's CA writes them; `p2psub.identity.certificates` reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID

from p2psub.identity.certificates import CLAIMS_OID, Claims, common_name
from p2psub.model.ids import NodeId

LIFETIME: Final = timedelta(days=7)
"""A node renews daily, so the bootstrap may be down for days."""
BACKDATED: Final = timedelta(hours=2)
"""A node whose clock is this much behind ours still takes the certificate for valid."""

_ALWAYS: Final = datetime(2000, 1, 1, tzinfo=UTC)
_FOREVER: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
"""What RFC 5280 calls no end: an overlay that outlives its CA would have to enrol anew as a whole."""


def issue_ca(ca_key: Ed25519PrivateKey, overlay: str) -> bytes:
    """The CA's certificate for itself, in DER."""
    public = ca_key.public_key()
    builder = (
        _builder(overlay, overlay, public, serial=1)
        .not_valid_before(_ALWAYS)
        .not_valid_after(_FOREVER)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return _sign(builder, ca_key)


def issue(
    ca_key: Ed25519PrivateKey, node_id: NodeId, public_key: bytes, claims: Claims, serial: int, now_s: float
) -> bytes:
    """A node's certificate in DER, for both ends of a TLS link."""
    now = datetime.fromtimestamp(int(now_s), UTC)
    name = node_id.hex()
    host = x509.DNSName(f"{name}.p2psub.invalid")
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = (
        _builder(name, claims.overlay, Ed25519PublicKey.from_public_bytes(public_key), serial)
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(x509.SubjectAlternativeName([host]), critical=False)
        .add_extension(authority, critical=False)
        # Not critical, because OpenSSL refuses what it does not know; `read_passport` refuses where it is missing.
        .add_extension(x509.UnrecognizedExtension(CLAIMS_OID, msgspec.msgpack.encode(claims)), critical=False)
    )
    return _sign(builder, ca_key)


def _builder(subject: str, overlay: str, public: Ed25519PublicKey, serial: int) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(common_name(subject))
        .issuer_name(common_name(overlay))
        .public_key(public)
        .serial_number(serial)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _sign(builder: x509.CertificateBuilder, ca_key: Ed25519PrivateKey) -> bytes:
    return builder.sign(ca_key, None).public_bytes(serialization.Encoding.DER)
