"""Addresses are read as people write them, and what is none is refused with advice."""

from __future__ import annotations

import pytest

from p2psub.api.addresses import join_address, split_address
from p2psub.errors import ConfigError


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("127.0.0.1:7400", ("127.0.0.1", 7400)),
        ("peer.example:0", ("peer.example", 0)),
        ("[::1]:65535", ("::1", 65_535)),
    ],
)
def test_an_address_has_a_host_and_a_port(address: str, parts: tuple[str, int]) -> None:
    """And is written back as it was."""
    assert split_address(address) == parts
    assert join_address(*parts) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        ":",
        ":7400",
        "host",
        "host:",
        "host:http",
        "host:65536",
        "host:-1",
        "host:²",
        "[::1]",
        "::1:80",
        "[::1:80",
        "[host]:80",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    """The error names the setting and shows how to write one."""
    with pytest.raises(ConfigError, match=r"write HOST:PORT, such as 127\.0\.0\.1:7400") as refused:
        split_address(address, "listen")
    assert refused.value.field == "listen"
