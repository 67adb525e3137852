"""Processes that die with us, however we die.

All of them are in one process group. Its leader is a shell that does nothing but read from a pipe whose other end only
we hold. When that end closes, because we are done or because we were killed, the shell kills its group.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_GUARD: Final = ("/bin/sh", "-c", "read _; kill -KILL 0")


@contextmanager
def leashed() -> Iterator[int]:
    """A process group, by its number, whose processes are killed when the block ends, or this process does.

    Put processes into it as they are started (`process_group` of Popen): then there is no moment without the leash.
    It also keeps Ctrl-C in a terminal from them.
    """
    with subprocess.Popen(_GUARD, stdin=subprocess.PIPE, process_group=0) as guard:
        # Leaving the block closes the pipe and waits for the shell, which is one of those it kills.
        yield guard.pid
