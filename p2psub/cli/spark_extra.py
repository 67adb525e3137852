"""What is not there without the extra `spark`, and how to get it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from p2psub.api.errors import Refusal

_PACKAGES: Final = ("pyspark", "pyarrow", "pandas")


class SparkMissing(Refusal):
    """Spark is not installed."""


def need_spark() -> None:
    """Raise SparkMissing unless everything that the analysis imports is installed."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise SparkMissing(f"this needs {', '.join(missing)}", "install it: pip install 'p2psub[spark]'")
