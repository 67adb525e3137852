"""No process is left behind, however its owner ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from p2psub.demo.leash import leashed

SLEEPER = ("/bin/sleep", "600")
OWNER = """
import subprocess
from p2psub.demo.leash import leashed
with leashed() as group:
    with subprocess.Popen(["/bin/sleep", "600"], process_group=group) as sleeper:
        print("started", flush=True)
        sleeper.wait()
"""
ROOT = Path(__file__).resolve().parents[3]


def test_processes_are_killed_when_the_block_ends() -> None:
    """Even if it ends by an exception, and they would live on."""
    try:
        with leashed() as group:
            sleeper = subprocess.Popen(SLEEPER, process_group=group)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert sleeper.wait() == -signal.SIGKILL


def test_processes_are_out_of_the_reach_of_control_c() -> None:
    """A terminal interrupts the group in its foreground, which is not theirs."""
    with leashed() as group, subprocess.Popen(SLEEPER, process_group=group) as sleeper:
        assert os.getpgid(sleeper.pid) == group != os.getpgid(0)
        sleeper.kill()


def test_processes_die_with_an_owner_that_is_killed() -> None:
    """Nothing runs in the owner after SIGKILL; the leash still holds."""
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, cwd=ROOT) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"started\n"
        owner.kill()
        # The sleeper writes to the same pipe: it ends only when both have.
        assert owner.stdout.read() == b""
