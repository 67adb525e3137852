"""Finding a running peer: by its data directory, or by URL and token."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from p2psub.api.control_files import TOKEN_FILE, URL_FILE
from p2psub.api.errors import Refusal


class BadUsage(Refusal):
    """The command line or the environment makes no sense."""


class NoPeer(Refusal):
    """No peer answers where it should be, or it went away."""


def check_directories(directories: Iterable[Path]) -> None:
    """Refuse what is not a directory, before anything slow begins."""
    for directory in directories:
        if not directory.is_dir():
            raise BadUsage(f"there is no directory {directory}", "name the data directory of a peer, or one above it")


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a peer's control API is, and what to do if it is not."""

    url: str
    token: str
    absence: str
    remedy: str
    data: Path | None = None


def find_peer(data: Path | None, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """The peer of a data directory, else of P2PSUB_CONTROL and P2PSUB_CONTROL_TOKEN, else of P2PSUB_DATA."""
    if data is not None:
        return _peer_of_data(data)
    if url := environ.get("P2PSUB_CONTROL"):
        if token := environ.get("P2PSUB_CONTROL_TOKEN"):
            return Endpoint(url=url, token=token, absence=f"no peer answers at {url}", remedy="see P2PSUB_CONTROL")
        raise BadUsage("P2PSUB_CONTROL is set without P2PSUB_CONTROL_TOKEN", "set both, or give --data DIR")
    if named := environ.get("P2PSUB_DATA"):
        return _peer_of_data(Path(named))
    raise BadUsage("no peer is named", "give --data DIR, the data directory of a running peer, or set P2PSUB_DATA")


def _peer_of_data(data: Path) -> Endpoint:
    absence = f"no peer runs with data directory {data}"
    remedy = f"start one with: p2psub peer --data {data}"
    try:
        url, token = ((data / name).read_text(encoding="utf-8").strip() for name in (URL_FILE, TOKEN_FILE))
    except PermissionError as error:
        raise BadUsage(f"{error.filename} cannot be read by this user", "be the user who runs the peer") from error
    except (OSError, UnicodeDecodeError) as error:
        raise NoPeer(absence, remedy) from error
    return Endpoint(url=url, token=token, absence=absence, remedy=remedy, data=data)
