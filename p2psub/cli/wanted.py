"""Which events a person means: a topic, or a filter."""

from __future__ import annotations

import re
from typing import Final

from p2psub.cli.endpoint import BadUsage

_OF_FILTERS: Final = re.compile(r"""[\s'"()<=>]""")
"""Every filter has one of these characters, and hardly any topic."""


def filter_of(text: str) -> str:
    """The filter that was given, or one that takes the topic that was given; nothing takes all events."""
    if not text or _OF_FILTERS.search(text):
        return text
    if "*" in text:
        pattern = text.replace("*", "%")
        raise BadUsage(f"{text} names one topic, with a * in it", f"for several, give a filter: topic LIKE '{pattern}'")
    return f"topic = '{text}'"
