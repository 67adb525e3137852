"""`--plot FILE` of the experiments: what can be drawn, checked before anything slow begins."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Final

from p2psub.errors import ConfigError

PLOTS: Final = (".svg", ".png", ".pdf")


def check_plot(path: Path) -> None:
    """Raise ConfigError unless a plot can be drawn into this file."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ConfigError("plot", "needs matplotlib: pip install 'p2psub[plots]'")
    if path.suffix not in PLOTS:
        raise ConfigError("plot", f"{path.name!r} should end in {', '.join(PLOTS)}")
    if not path.absolute().parent.is_dir():
        raise ConfigError("plot", f"there is no directory {path.parent}; make it, or name another")
