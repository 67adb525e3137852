"""The signature over a batch of events, which leads to each of them (see `merkle`)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from p2psub.model.rights import CERTIFICATE_BYTES_MAX

BATCH_MAX = 256
"""Events under one signature: by then it costs less than the hashes, even to a node that gets one in a hundred."""

SIGNATURE_BYTES = 64
LEAF_BYTES = 16
LEAF_WEIGHT = 2 + LEAF_BYTES
"""With what MessagePack puts before it."""

Leaf = Annotated[bytes, msgspec.Meta(min_length=LEAF_BYTES, max_length=LEAF_BYTES)]
"""Hash of an event."""


class Signature(msgspec.Struct, frozen=True, array_like=True):
    """What a publisher says of a batch, and the certificate by which any node can tell that it was the publisher."""

    value: Annotated[bytes, msgspec.Meta(max_length=SIGNATURE_BYTES)]
    certificate: Annotated[bytes, msgspec.Meta(max_length=CERTIFICATE_BYTES_MAX)]
