"""Addresses as people write them: HOST:PORT, with brackets around an IPv6 host."""

from __future__ import annotations

from p2psub.errors import ConfigError
from p2psub.model.ids import ADDRESS_CHARS_MAX


def split_address(address: str, field: str = "address") -> tuple[str, int]:
    """Host and port; ConfigError with advice if it is not valid."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    is_short = len(address) <= ADDRESS_CHARS_MAX
    if not colon or not host or not is_short or not port.isdecimal() or int(port) > 65_535:
        raise ConfigError(
            field, f"{address!r} is not a valid address; write HOST:PORT, such as 127.0.0.1:7400 or [::1]:7400"
        )
    return host, int(port)


def join_address(host: str, port: int) -> str:
    """The inverse of `split_address`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
