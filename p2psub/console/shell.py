"""The console's loop: at a terminal with history and completion, else line by line, for scripts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.patch_stdout import patch_stdout
from rich.console import Console

from p2psub.cli.client import ControlClient
from p2psub.console.commands import perform
from p2psub.console.completion import ConsoleCompleter
from p2psub.console.session import ConsoleSession
from p2psub.errors import P2psubError

HISTORY_FILE: Final = "console.history"


def run_prompt(client: ControlClient, data: Path | None) -> None:
    """Ask for commands until the user leaves; notifications appear above what is being typed."""
    page = client.status()
    with patch_stdout(raw=True):
        session = ConsoleSession(client, Console())
        prompt: PromptSession[str] = PromptSession(
            history=history_in(data), completer=ConsoleCompleter(session), complete_while_typing=False
        )
        where = f", {page.ring.role.value} of cluster {page.ring.cluster}" if page.ring.cluster else ""
        session.show(f"peer {page.name}{where}: {page.stage}. help lists the commands, Ctrl-D quits.")
        try:
            while not session.is_over:
                try:
                    run_line(session, prompt.prompt(f"{page.name}> "))
                except KeyboardInterrupt:
                    session.show("left as it is; quit or Ctrl-D leaves the console")
                except EOFError:
                    break
        finally:
            session.close()


def run_script(client: ControlClient, lines: Iterable[str], console: Console) -> bool:
    """Run one line after the other; tells whether all could be done."""
    session = ConsoleSession(client, console)
    is_sound = True
    try:
        for line in lines:
            is_sound = run_line(session, line) and is_sound
            if session.is_over:
                break
    finally:
        session.close()
    return is_sound


def run_line(session: ConsoleSession, line: str) -> bool:
    """Do what a line says, or say why not; tells whether it was done."""
    try:
        perform(session, line)
    except P2psubError as error:
        session.complain(error)
        return False
    return True


def history_in(data: Path | None) -> History:
    """Lines typed before, kept for the owner alone in the data directory."""
    if data is None:
        return InMemoryHistory()
    path = data / HISTORY_FILE
    path.touch(mode=0o600)
    return FileHistory(path)
