"""Where a run keeps its files, and what is left of them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from p2psub.errors import ConfigError


class RunDirectories:
    """The directories below one root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bootstrap = root / "bootstrap"
        self.peers = root / "peers"
        """A data directory for each peer, under its name."""
        self.logs = root / "logs"
        self.analysis = root / "analysis"
        """What the analysis of the traces leaves: a report, figures, tables."""

    @classmethod
    def make(cls, root: Path | None, command: str = "demo", option: str = "data") -> RunDirectories:
        """Directories in a new or empty directory, that of the option of a command; None: in a temporary one."""
        root = Path(tempfile.mkdtemp(prefix=f"p2psub-{command}-")) if root is None else root.absolute()
        if root.exists() and any(root.iterdir()):
            raise ConfigError(option, f"{root} is not empty; name a directory that is, or a new one")
        directories = cls(root)
        for directory in (directories.peers, directories.logs):
            directory.mkdir(parents=True)
        return directories

    def leave_traces(self) -> None:
        """Remove keys, events and logs."""
        shutil.rmtree(self.bootstrap)
        shutil.rmtree(self.logs)
        for path in self.peers.glob("*/*"):
            if path.name == "traces":
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def leave_nothing(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.root)


def trace_bytes_below(directory: Path) -> int:
    """What all trace segments at any depth of a directory hold."""
    return sum(segment.stat().st_size for segment in directory.rglob("*.ndjson"))
