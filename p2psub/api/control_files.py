"""Where in the data directory clients find the control API."""

from __future__ import annotations

from typing import Final

URL_FILE: Final = "control.url"
TOKEN_FILE: Final = "control.token"
