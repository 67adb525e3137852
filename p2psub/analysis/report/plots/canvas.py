"""What all plots share: a canvas, axes, and a legend above."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final
from xml.etree.ElementTree import Element

from p2psub.analysis.report.elements import Child, el
from p2psub.analysis.report.scales import Scale

WIDTH: Final = 640.0
LEFT: Final = 52.0
RIGHT: Final = WIDTH - 30.0
TOP: Final = 12.0


def canvas(name: str, height: float, *children: Child) -> Element:
    """A picture that is as wide as its place; `name` is read aloud to those who do not see it."""
    view = f"0 0 {WIDTH:g} {height:g}"
    return el("svg", el("title", name), *children, viewBox=view, role="img", class_="plot")


def figure(title: str, note: str, *parts: Child) -> Element:
    """A plot with its title and a sentence that says how to read it."""
    return el("figure", el("figcaption", el("h3", title), el("p", note)), *parts)


def nothing(title: str, why: str) -> Element:
    """In place of a plot that has nothing to show."""
    return el("figure", el("figcaption", el("h3", title)), el("p", why, class_="nothing"))


def legend(entries: Iterable[tuple[str, str]]) -> Element:
    """Pairs of a class of colour and what it stands for."""
    items = [el("span", el("i", class_=f"key {colour}"), text) for colour, text in entries]
    return el("p", *items, class_="legend")


def text(x: float, y: float, said: str, anchor: str = "start", **attributes: object) -> Element:
    """A label."""
    return el("text", said, x=x, y=y, text_anchor=anchor, **attributes)


def hint(shape: Element, said: str) -> Element:
    """A shape that says more when one points at it."""
    shape.insert(0, el("title", said))
    return shape


def down_axis(scale: Scale, ticks: Iterable[float], say: Callable[[float], str]) -> list[Element]:
    """Lines across the plot, each with its value at the left."""
    lines: list[Element] = []
    for tick in ticks:
        y = scale.at(tick)
        lines.append(el("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="grid"))
        lines.append(text(LEFT - 8, y + 4, say(tick), "end"))
    return lines


def along_axis(scale: Scale, ticks: Iterable[float], say: Callable[[float], str], bottom: float) -> list[Element]:
    """Marks at the foot of the plot, each with its value below."""
    marks = [el("line", x1=scale.first_px, x2=scale.last_px, y1=bottom, y2=bottom, class_="axis")]
    for tick in ticks:
        x = scale.at(tick)
        marks.append(el("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, class_="axis"))
        marks.append(text(x, bottom + 18, say(tick), "middle"))
    return marks


def short(node: str) -> str:
    """A node as people name it: the first ten digits."""
    return node[:10]
