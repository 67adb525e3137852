"""Who signs in tests: nodes with real keys and certificates, and plain ones where ids must be chosen."""

from __future__ import annotations

import hashlib
import time
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bootstrap.issuance import issue, issue_ca
from p2psub.identity.certificates import NONCE_BYTES, Claims
from p2psub.identity.keys import NodeKey, derive_node_id
from p2psub.identity.notary import NodeNotary
from p2psub.model.content import Event, Guarantee
from p2psub.model.digests import content_hash
from p2psub.model.ids import Contact, NodeId
from p2psub.model.merkle import Tree, statement_of
from p2psub.model.messages.pubsub import ParcelToOwner
from p2psub.model.parcels import Parcel
from p2psub.model.rights import Rights
from p2psub.model.seals import Signature
from p2psub.parcels.sealer import Notary

OVERLAY = "demo"


class Office:
    """A CA, which gives certificates for any overlay."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()

    def ca_der(self, overlay: str = OVERLAY) -> bytes:
        """Its own certificate."""
        return issue_ca(self._key, overlay)

    def enrol(
        self, rights: Rights | None = None, *, age_s: float = 0.0, overlay: str = OVERLAY, key: NodeKey | None = None
    ) -> Enrolled:
        """A node that got its certificate a while ago; with a given key its id is always the same."""
        node_key, nonce = key or NodeKey.create(), bytes(NONCE_BYTES)
        node_id = derive_node_id(overlay, nonce, node_key.public_bytes)
        claims = Claims(overlay, nonce, rights or Rights())
        certificate = issue(self._key, node_id, node_key.public_bytes, claims, 7, time.time() - age_s)
        notary = NodeNotary(node_key, certificate, self.ca_der(overlay), overlay)
        return Enrolled(node_key, node_id, certificate, notary)


class Enrolled(NamedTuple):
    """A node that has a key and a certificate."""

    key: NodeKey
    id: NodeId
    certificate: bytes
    notary: NodeNotary

    @property
    def contact(self) -> Contact:
        return Contact(self.id, "enrolled:1")


class PlainNotary:
    """Signs by a hash that names the signer: nothing is secret, but a test that lies has to do so on purpose."""

    def __init__(self, node: NodeId, rights: Rights | None = None) -> None:
        self._node = node
        self._rights = rights or Rights()

    def sign(self, statement: bytes) -> Signature:
        return Signature(_stamp(self._node, statement), b"")

    def rights_of(self, publisher: NodeId, statement: bytes, signature: Signature) -> Rights | None:
        return self._rights if signature.value == _stamp(publisher, statement) else None


def _stamp(node: NodeId, statement: bytes) -> bytes:
    return hashlib.sha256(node + statement).digest()


# What they sign


def sealed(notary: Notary, *events: Event, number: int = 1) -> Parcel:
    """Events of one parcel under the notary's signature."""
    root = Tree([content_hash(event) for event in events]).root
    is_promised = events[0].guarantee is Guarantee.EFFECTIVELY_ONCE
    signature = notary.sign(statement_of(root, len(events), number, is_promised))
    return Parcel(number, len(events), events, signature=signature)


def stream_of(notary: Notary, *events: Event, number: int = 1) -> ParcelToOwner:
    """Events of one parcel, as their publisher sends them if they promise nothing."""
    return ParcelToOwner(sealed(notary, *events, number=number), tuple(content_hash(event) for event in events))
