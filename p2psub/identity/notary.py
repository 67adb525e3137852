"""A node's signature on what it publishes, and its check of all others'.

A certificate is read once, a root is verified once: what follows is a look into a bounded memory. An event may outlive
the certificate under which it was signed, so only the CA's word counts here, not its date; the owner that took the
event had its publisher on the line, with a certificate that was valid then.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from p2psub.identity.certificates import CertificateRefused, Passport, read_passport
from p2psub.identity.keys import NodeKey, is_signed
from p2psub.model.ids import NodeId
from p2psub.model.rights import Rights
from p2psub.model.seals import Signature

REMEMBERED_MAX: Final = 1024

_PURPOSE: Final = b"p2psub batch of events\0"
"""So that no signature of a node means two things."""


class NodeNotary:
    """Signs with the node's key; believes every node that shows a certificate of the overlay's CA."""

    def __init__(self, key: NodeKey, certificate: bytes, ca_der: bytes, overlay: str) -> None:
        self._key = key
        self._ca_der = ca_der
        self._overlay = overlay
        self._passport_in = lru_cache(REMEMBERED_MAX)(self._read)
        self._is_signed = lru_cache(REMEMBERED_MAX)(is_signed)
        self.certificate = certificate
        """Ours; a renewed one takes its place."""

    def sign(self, statement: bytes) -> Signature:
        return Signature(self._key.sign(_PURPOSE + statement), self.certificate)

    def rights_of(self, publisher: NodeId, statement: bytes, signature: Signature) -> Rights | None:
        passport = self._passport_in(signature.certificate)
        if passport is None or passport.id != publisher:
            return None
        return passport.rights if self._is_signed(_PURPOSE + statement, signature.value, passport.public_key) else None

    def _read(self, certificate: bytes) -> Passport | None:
        try:
            return read_passport(certificate, self._ca_der, self._overlay, None)
        except CertificateRefused:
            return None
