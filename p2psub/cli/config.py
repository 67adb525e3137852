"""`p2psub config`: a file of settings to start from, and a check of one that was written."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from p2psub.cli.settings import Setting, all_settings, tables
from p2psub.cli.settings_file import check_file, toml_value

EXIT_BAD_FILE: Final = 1
WIDTH: Final = 100

app = typer.Typer(
    no_args_is_help=True,
    help="Settings as a file.",
    epilog="Exit codes: 0 fine, 1 the file cannot be used, 2 bad usage.",
)


@app.command()
def example() -> None:
    """Print a file with every setting: its default, unit and meaning. Nothing in it changes anything."""
    print(example_text())


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A file of settings.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check a file of settings: names, types, limits, and whether they fit together."""
    complaints = check_file(file)
    if as_json:
        print(json.dumps({"ok": not complaints, "errors": msgspec.to_builtins(complaints)}))
    elif complaints:
        for complaint in complaints:
            print(f"{file}: {complaint}", file=sys.stderr)
    else:
        print(f"{file} is fine")
    if complaints:
        raise typer.Exit(EXIT_BAD_FILE)


def example_text() -> str:
    """The file, with every setting commented out at its default."""
    lines = [
        "# Settings of p2psub: p2psub peer --config FILE, p2psub bootstrap --config FILE.",
        "# What is commented out is the default. Options of the command line come first, then the environment,",
        "# then this file. One file may serve a peer and a bootstrap; each reads its own table, and [node].",
    ]
    for table, purpose in tables().items():
        lines += ["", f"# {purpose}", f"[{table}]"]
        for setting in all_settings().values():
            if setting.table == table:
                lines += _entry(setting)
    return "\n".join(lines)


def _entry(setting: Setting) -> list[str]:
    shown = setting.example if setting.default is None else setting.default
    facts = [setting.unit] if setting.unit is not None else []
    if setting.default is None:
        facts.append("needed" if setting.is_required else "none by default")
    about = textwrap.wrap(setting.meaning, WIDTH)
    value = f"{setting.name} = {toml_value(shown)}"
    return ["", *(f"# {line}" for line in about), f"# {value:<38} # {', '.join([*facts, setting.environment])}"]
