"""Whether this is the compiled wheel, or Python as it was written (docs/decisions/0025)."""

from __future__ import annotations

from importlib.util import find_spec


def is_compiled() -> bool:
    """Whether the cores are machine code; figures of the one say little about the other."""
    spec = find_spec("p2psub.node.core")
    return spec is not None and spec.origin is not None and not spec.origin.endswith(".py")
