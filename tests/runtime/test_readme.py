"""The README tells the truth: its example runs and prints what is shown, and the commands it shows can be typed.

So can those of CONTRIBUTING.md.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from p2psub.cli.main import app
from tests.runtime.overlays import Bootstrap, Peer
from tests.runtime.terminals import PATIENCE_S, ROOT, desk_in

README = ROOT / "README.md"
PAGES = [page.read_text(encoding="utf-8") for page in (README, ROOT / "CONTRIBUTING.md")]
EXAMPLE = re.compile(r"<!-- example: peer -->\s*```python\n(?P<code>.*?)```\s*```\n(?P<output>.*?)```", re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
MENTIONED = re.compile(r"`(p2psub [^`]+)`")
SUBSTITUTED = re.compile(r"\$\(([^()]*)\)")
PUNCTUATION = "();<>|&"


def test_the_example_runs_as_it_is(tmp_path: Path) -> None:
    """In an overlay of others, who see what it publishes; the number of copies depends on how many there are."""
    example = EXAMPLE.search(README.read_text(encoding="utf-8"))
    assert example is not None, "the README has no example: peer, or no output of it"
    (tmp_path / "example.py").write_text(example["code"], encoding="utf-8")
    # The example goes by the defaults, and so must all others of its overlay.
    with desk_in(tmp_path, settings={}) as desk:
        bootstrap = Bootstrap(desk)
        token = bootstrap.token()
        peer = Peer(desk, "ann")
        peer.start("--bootstrap", bootstrap.address, "--token", token)
        peer.wait_ready()
        subscriber = peer.subscribe("topic = 'quotes/ACME'")
        environment = {
            "P2PSUB_DATA": str(tmp_path / "example"),
            "P2PSUB_BOOTSTRAP": bootstrap.address,
            "P2PSUB_JOIN_TOKEN": token,
            "PYTHONPATH": str(ROOT),
        }
        ran = subprocess.run(
            [sys.executable, tmp_path / "example.py"],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        assert uncounted(ran.stdout) == uncounted(example["output"])
        subscriber.wait_count(3)


def uncounted(output: str) -> list[str]:
    """Lines without how many copies and subscriptions there were; events keep no order."""
    return sorted(re.sub(r"\b(copies|matched) \d+", r"\1 N", line) for line in output.splitlines())


def lines_of(text: str) -> Iterator[str]:
    """What a reader types, by the fenced blocks of a page: whole lines after a prompt."""
    for block in FENCED.findall(text):
        yield from (line.removeprefix("$ ") for line in block.splitlines() if line.startswith(("$ ", "p2psub ")))


def commands_in(line: str) -> Iterator[list[str]]:
    """The commands of p2psub in a line for the shell, as words without the first."""
    for inner in SUBSTITUTED.findall(line):
        yield from commands_in(inner)
    reader = shlex.shlex(SUBSTITUTED.sub("SUBSTITUTED", line), posix=True, punctuation_chars=PUNCTUATION)
    reader.whitespace_split = True
    command: list[str] = []
    for word in (*reader, ";"):
        if not set(word) <= set(PUNCTUATION):
            command.append(word)
            continue
        if command[:1] == ["p2psub"]:
            yield command[1:]
        command = []


TYPED = [words for page in PAGES for line in lines_of(page) for words in commands_in(line)]
NAMED = [shlex.split(span)[1:] for page in PAGES for span in MENTIONED.findall(page)]


@pytest.mark.parametrize("words", [*TYPED, *([*words, "--help"] for words in NAMED)], ids=" ".join)
def test_a_command_can_be_typed_as_shown(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It exists, takes these options and arguments, and needs no others; one that is only named needs to exist."""
    with pytest.raises(SystemExit) as end:
        idle(typer.main.get_command(app)).main(words, prog_name="p2psub")
    assert end.value.code == 0, capsys.readouterr().err


def idle(command: Any) -> Any:
    """The same command line, which does nothing."""
    command.callback = None
    for inner in getattr(command, "commands", {}).values():
        idle(inner)
    return command


def test_all_ways_in_are_shown() -> None:
    """The tests above are not blind."""
    assert {"bootstrap", "peer", "status", "sub", "pub", "console", "sim", "trace"} <= {words[0] for words in TYPED}
    assert {"--data", "--filter", "--token"} <= {word for words in TYPED for word in words}


@pytest.mark.parametrize("wrong", ["nonsense", "peer --data d --nonsense", "config check", "sub --filter a --count b"])
def test_what_cannot_be_typed_is_found(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands, options, what is missing, and values."""
    monkeypatch.delenv("P2PSUB_DATA", raising=False)
    with pytest.raises(SystemExit) as end:
        idle(typer.main.get_command(app)).main(wrong.split(), prog_name="p2psub")
    assert end.value.code == 2


def test_commands_are_found_in_lines_for_the_shell() -> None:
    """Behind pipes and in substitutions; not in what is quoted, or commented."""
    line = """echo 'a; p2psub b' | p2psub console --data d && p2psub peer --token "$(p2psub token)" # p2psub c"""
    assert list(commands_in(line)) == [["token"], ["console", "--data", "d"], ["peer", "--token", "SUBSTITUTED"]]
