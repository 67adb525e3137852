"""Addresses as people write them: HOST:PORT, with brackets around an IPv6 host."""

from __future__ import annotations

from p2psub.errors import ConfigError
from p2psub.model.ids import ADDRESS_CHARS_MAX


def split_address(address: str, field: str = "address") -> tuple[str, int]:
    """Host and port; ConfigError with advice if it is not valid."""
    host, colon, port = address.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if is_bracketed else host
    is_short = len(address) <= ADDRESS_CHARS_MAX
    is_host = bool(host) and "[" not in host and "]" not in host and (":" in host) is is_bracketed
    if not colon or not is_host or not is_short or not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        raise ConfigError(
            field, f"{address!r} is not a valid address; write HOST:PORT, such as 127.0.0.1:7400 or [::1]:7400"
        )
    return host, int(port)


def join_address(host: str, port: int) -> str:
    """The inverse of `split_address`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
