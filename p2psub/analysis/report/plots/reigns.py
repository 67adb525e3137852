"""Who ruled which cluster, and when: a change of colour is a new super-node, a hole is a time without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from p2psub.analysis.report.elements import el
from p2psub.analysis.report.page import Reign
from p2psub.analysis.report.plots.canvas import (
    RIGHT,
    TOP,
    along_axis,
    canvas,
    figure,
    hint,
    nothing,
    short,
    text,
)
from p2psub.analysis.report.scales import Scale, clock_text, time_ticks

CLUSTERS_SHOWN: Final = 40

_TITLE = "Who ruled, and when it changed"
_NOTE = (
    "A bar is the reign of one super-node; a new colour is another peer. Thin bars ruled beside another, as founders "
    "do that meet. A red end: the trace was cut there."
)
_LEFT = 110.0
_ROW_PX = 26.0


def draw_reigns(reigns: Sequence[Reign], left_out: int = 0) -> Element:
    """A line of bars per cluster; those with most changes first, if not all can be shown. Reigns may be `left_out`."""
    if not reigns:
        return nothing(_TITLE, "The traces tell of no reign.")
    clusters: dict[str, list[Reign]] = {}
    for reign in sorted(reigns, key=lambda one: (one.begin_us, one.epoch)):
        clusters.setdefault(reign.cluster, []).append(reign)
    busiest = sorted(clusters, key=lambda name: (-len(clusters[name]), name))[:CLUSTERS_SHOWN]
    bottom = TOP + len(busiest) * _ROW_PX + 2
    begin_us, end_us = min(one.begin_us for one in reigns), max(one.end_us for one in reigns)
    along = Scale(begin_us, max(end_us, begin_us + 1), _LEFT, RIGHT)
    ticks, say = time_ticks(begin_us, end_us, wanted=5)
    shapes = along_axis(along, ticks, lambda at: say(round(at)), bottom)
    for number, name in enumerate(sorted(busiest)):
        top = TOP + number * _ROW_PX
        shapes.append(text(_LEFT - 8, top + 13, name[:16], "end", class_="id"))
        shapes.extend(_bars(clusters[name], along, top))
    rest = len(clusters) - len(busiest)
    note = _NOTE + (f" {rest:,} clusters with fewer changes are left out." if rest else "")
    note += f" {left_out:,} later reigns are in tables/timeline." if left_out else ""
    return figure(_TITLE, note, canvas(_TITLE, bottom + 28, *shapes))


def _bars(reigns: Sequence[Reign], along: Scale, top: float) -> list[Element]:
    shapes: list[Element] = []
    colours: dict[str, int] = {}
    for reign in reigns:
        colour = colours.setdefault(reign.node, len(colours))
        left, right = along.at(reign.begin_us), along.at(reign.end_us)
        is_thin = _is_beside_a_longer(reign, reigns)
        place = {"y": top + _ROW_PX - 7, "height": 4} if is_thin else {"y": top, "height": _ROW_PX - 8}
        bar = el("rect", x=left, width=max(right - left - 1, 2), rx=2, class_=f"series-{colour % 6}", **place)
        until = f"until {clock_text(reign.end_us)}, {reign.ending}" if reign.ending else "until the trace ends"
        said = f"{reign.cluster}: {reign.node}, epoch {reign.epoch}, from {clock_text(reign.begin_us)} {until}"
        shapes.append(hint(bar, said))
        if right - left > 84 and not is_thin:
            shapes.append(text(left + 7, top + 13, short(reign.node), class_="on"))
        if reign.ending == "cut":
            shapes.append(el("rect", x=right - 3, y=top - 2, width=3, height=_ROW_PX - 4, class_="bad"))
    return shapes


def _is_beside_a_longer(reign: Reign, reigns: Sequence[Reign]) -> bool:
    """Whether another, longer one of the cluster overlaps it."""
    span_us = reign.end_us - reign.begin_us
    return any(
        other.begin_us < reign.end_us and reign.begin_us < other.end_us and other.end_us - other.begin_us > span_us
        for other in reigns
    )
