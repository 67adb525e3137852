"""Options that all commands share that talk to a peer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Data directory of the running peer (else P2PSUB_CONTROL and P2PSUB_CONTROL_TOKEN, else P2PSUB_DATA).",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
