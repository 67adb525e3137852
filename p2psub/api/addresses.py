"""Addresses as people write them: HOST:PORT, with brackets around an IPv6 host."""

from __future__ import annotations

import re
from typing import Final

from p2psub.errors import ConfigError
from p2psub.model.ids import ADDRESS_CHARS_MAX

_ADDRESS: Final = re.compile(r"(?:\[(?P<host6>[^\[\]]*:[^\[\]]*)\]|(?P<host>[^\[\]:]+)):(?P<port>[0-9]{1,5})")


def split_address(address: str, field: str = "address") -> tuple[str, int]:
    """Host and port; ConfigError with advice if it is not valid."""
    found = _ADDRESS.fullmatch(address)
    if found is None or len(address) > ADDRESS_CHARS_MAX or int(found["port"]) > 65_535:
        raise ConfigError(
            field, f"{address!r} is not a valid address; write HOST:PORT, such as 127.0.0.1:7400 or [::1]:7400"
        )
    return found["host6"] or found["host"], int(found["port"])


def join_address(host: str, port: int) -> str:
    """The inverse of `split_address`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
