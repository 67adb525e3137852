"""What a node may do: told to its join token, written into its certificate, enforced by owners and super-nodes.

A topic pattern is a topic, or a prefix of topics followed by `*`; `*` alone is every topic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from p2psub.errors import ConfigError

RIGHTS_BYTES_MAX: Final = 2048
"""Rights travel in a certificate with every handshake; some fifty patterns of forty characters are enough."""
CLAIMS_BYTES_MAX: Final = RIGHTS_BYTES_MAX + 128
"""Rights, nonce and overlay, each with its header."""
CERTIFICATE_BYTES_MAX: Final = CLAIMS_BYTES_MAX + 2048
_EVERY: Final = "*"


class Rights(msgspec.Struct, frozen=True, array_like=True):
    """Topic patterns a node may publish and subscribe to, and whether it may become a super-node."""

    publish: tuple[str, ...] = ("*",)
    subscribe: tuple[str, ...] = ("*",)
    may_lead: bool = True

    def may_publish(self, topic: str) -> bool:
        return _EVERY in self.publish or any(_covers(pattern, topic) for pattern in self.publish)

    def may_publish_all(self, topics: Iterable[str]) -> bool:
        """Whether each of the topics may be published; one that is named often is looked at once."""
        return _EVERY in self.publish or all(self.may_publish(topic) for topic in dict.fromkeys(topics))

    def may_subscribe(self, topics: tuple[str, ...]) -> bool:
        """Whether a filter that pins these topics is allowed; one that pins none may match any topic and needs `*`."""
        return _allow(self.subscribe, topics)

    def may_advertise(self, topics: tuple[str, ...]) -> bool:
        """The same, for what is to be published."""
        return _allow(self.publish, topics)


def check_rights(rights: Rights) -> Rights:
    """The same rights, if every pattern is one and all of them fit into a certificate; else ConfigError."""
    for field, patterns in (("rights.publish", rights.publish), ("rights.subscribe", rights.subscribe)):
        for pattern in patterns:
            _check_pattern(field, pattern)
    if len(msgspec.msgpack.encode(rights)) > RIGHTS_BYTES_MAX:
        raise ConfigError("rights", f"more than {RIGHTS_BYTES_MAX} bytes of patterns; use prefixes such as 'quotes/*'")
    return rights


def _check_pattern(field: str, pattern: str) -> None:
    if not pattern:
        raise ConfigError(field, "an empty pattern allows nothing; leave it out, or use '*' for every topic")
    if not pattern.isprintable():
        raise ConfigError(field, f"{pattern!r} has characters that cannot be seen; type the topic again")
    if "*" in pattern[:-1]:
        raise ConfigError(field, f"{pattern!r} has '*' before its end; use a topic, or a prefix followed by one '*'")


def _allow(patterns: tuple[str, ...], topics: tuple[str, ...]) -> bool:
    if not topics:
        return _EVERY in patterns
    return all(any(_covers(pattern, topic) for pattern in patterns) for topic in topics)


def _covers(pattern: str, topic: str) -> bool:
    return topic.startswith(pattern[:-1]) if pattern.endswith("*") else topic == pattern
