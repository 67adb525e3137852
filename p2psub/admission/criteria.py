"""When a declaration is admitted although nodes refuse it (RacsCBPS 4.3): never, always, or if they are few enough.

- `none`: always; nobody needs to be asked.
- `full`: if no node refuses. What was admitted so is carried, as long as publishers keep to what they advertise.
- `percent:P`: if at most P per cent of the nodes that were asked refuse. More is admitted, and less is certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from p2psub.errors import ConfigError

PERCENT_MAX: Final = 100.0


@dataclass(frozen=True, slots=True)
class Criterion:
    """Tells from how many nodes were asked, and refused, whether that is admission."""

    text: str
    """As it is written."""
    refused_percent_max: float

    @property
    def is_asking(self) -> bool:
        """Whether any answer matters."""
        return self.refused_percent_max < PERCENT_MAX

    def admits(self, asked: int, refused: int) -> bool:
        return refused * PERCENT_MAX <= asked * self.refused_percent_max


NONE: Final = Criterion("none", PERCENT_MAX)
FULL: Final = Criterion("full", 0.0)


def read_criterion(text: str) -> Criterion:
    """A criterion as written: 'none', 'full' or 'percent:20'."""
    name, _, share = text.strip().partition(":")
    if name == "percent":
        return _percent(text.strip(), share)
    found = {one.text: one for one in (NONE, FULL)}.get(text.strip())
    if found is None:
        raise ConfigError(
            "criterion",
            f"{text!r} is not a valid criterion; write 'none', which admits everything, 'full', which admits what no "
            "node refuses, or 'percent:20', which admits what at most 20 % of the nodes asked refuse",
        )
    return found


def _percent(text: str, share: str) -> Criterion:
    try:
        percent = float(share)
    except ValueError:
        raise ConfigError(
            "criterion", f"{text!r} has no number of per cent; write 'percent:20' for at most 20 % of the nodes asked"
        ) from None
    # What is not a number is not between these, either.
    if not 0.0 < percent < PERCENT_MAX:
        raise ConfigError("criterion", f"{text!r} is not between 0 and 100 %; for these write 'full' and 'none'")
    return Criterion(f"percent:{percent:g}", percent)
