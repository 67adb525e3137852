"""HTML and SVG as a tree: whatever a trace says becomes text or the value of an attribute, never markup."""

from __future__ import annotations

import re
from typing import Final
from xml.etree.ElementTree import Element, tostring

_UNPRINTABLE: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
"""No character of HTML, or one that turns the reading direction of what follows."""

Child = Element | str


def el(tag: str, /, *children: Child, **attributes: object) -> Element:
    """An element. `class_` is class, `stroke_width` is stroke-width; an attribute that is None is left out."""
    made = Element(tag)
    for name, value in attributes.items():
        if value is not None:
            made.set(name.rstrip("_").replace("_", "-"), _spelt(value))
    add(made, *children)
    return made


def add(parent: Element, *children: Child) -> None:
    """Append elements and texts, in this order."""
    for child in children:
        if isinstance(child, Element):
            parent.append(child)
        elif len(parent):
            parent[-1].tail = (parent[-1].tail or "") + cleaned(child)
        else:
            parent.text = (parent.text or "") + cleaned(child)


def cleaned(text: str) -> str:
    """The text without what no page may hold."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def markup(root: Element) -> str:
    """The document."""
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html") + "\n"


def _spelt(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return cleaned(str(value))
