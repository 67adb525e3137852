"""Bars over time: what became of all that began in each slice of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element

from p2psub.analysis.report.elements import el
from p2psub.analysis.report.page import Slice
from p2psub.analysis.report.plots.canvas import (
    LEFT,
    RIGHT,
    TOP,
    along_axis,
    canvas,
    down_axis,
    figure,
    hint,
    legend,
    nothing,
)
from p2psub.analysis.report.scales import Scale, clock_text, count_ticks, time_ticks

_HEIGHT = 230.0
_BOTTOM = _HEIGHT - 28.0
_GAP_PX = 1.5


def draw_slices(title: str, note: str, slices: Sequence[Slice], colours: Mapping[str, str]) -> Element:
    """Stacked bars; `colours` says which classes there are, from the bottom up, and how each is painted."""
    highest = max((sum(one.counts.values()) for one in slices), default=0)
    if not highest:
        return nothing(title, "The traces tell of none.")
    along = Scale(slices[0].begin_us, slices[-1].end_us, LEFT, RIGHT)
    up = Scale(0, highest, _BOTTOM, TOP)
    ticks, say = time_ticks(slices[0].begin_us, slices[-1].end_us)
    shapes = [
        *down_axis(up, count_ticks(highest), lambda value: f"{value:,.6g}"),
        *along_axis(along, ticks, lambda at: say(round(at)), _BOTTOM),
    ]
    for one in slices:
        shapes.extend(_bars(one, along, up, colours))
    seen = [name for name in colours if any(one.counts.get(name) for one in slices)]
    return figure(title, note, legend((colours[name], name) for name in seen), canvas(title, _HEIGHT, *shapes))


def _bars(one: Slice, along: Scale, up: Scale, colours: Mapping[str, str]) -> Iterator[Element]:
    left, right = along.at(one.begin_us), along.at(one.end_us)
    said = f"from {clock_text(one.begin_us)}: " + ", ".join(f"{one.counts[name]:,} {name}" for name in one.counts)
    floor = 0
    for name, colour in colours.items():
        count = one.counts.get(name, 0)
        if not count:
            continue
        top, bottom = up.at(floor + count), up.at(floor)
        # What is wrong must be seen, however little it is.
        height = max(bottom - top, 2.0 if colour in ("bad", "unknown") else 0.0)
        width = max(right - left - _GAP_PX, 0.5)
        yield hint(el("rect", x=left, y=bottom - height, width=width, height=height, class_=colour), said)
        floor += count
