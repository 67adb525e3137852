"""Who led which cluster, and when: a change of colour is a new super-node, a hole is a time without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from p2psub.analysis.report.elements import el
from p2psub.analysis.report.page import TermSpan
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

_TITLE = "Who led, and when it changed"
_NOTE = (
    "A bar is the term of one super-node; a new colour is another peer. Thin bars led beside another, as founders "
    "do that meet. A red end: the trace was cut there."
)
_LEFT = 110.0
_ROW_PX = 26.0


def draw_terms(terms: Sequence[TermSpan], left_out: int = 0) -> Element:
    """A line of bars per cluster; those with most changes first, if not all can be shown. Terms may be `left_out`."""
    if not terms:
        return nothing(_TITLE, "The traces tell of no term.")
    clusters: dict[str, list[TermSpan]] = {}
    for term in sorted(terms, key=lambda one: (one.begin_us, one.epoch)):
        clusters.setdefault(term.cluster, []).append(term)
    busiest = sorted(clusters, key=lambda name: (-len(clusters[name]), name))[:CLUSTERS_SHOWN]
    bottom = TOP + len(busiest) * _ROW_PX + 2
    begin_us, end_us = min(one.begin_us for one in terms), max(one.end_us for one in terms)
    along = Scale(begin_us, max(end_us, begin_us + 1), _LEFT, RIGHT)
    ticks, say = time_ticks(begin_us, end_us, wanted=5)
    shapes = along_axis(along, ticks, lambda at: say(round(at)), bottom)
    for number, name in enumerate(sorted(busiest)):
        top = TOP + number * _ROW_PX
        shapes.append(text(_LEFT - 8, top + 13, name[:16], "end", class_="id"))
        shapes.extend(_bars(clusters[name], along, top))
    rest = len(clusters) - len(busiest)
    note = _NOTE + (f" {rest:,} clusters with fewer changes are left out." if rest else "")
    note += f" {left_out:,} later terms are in tables/timeline." if left_out else ""
    return figure(_TITLE, note, canvas(_TITLE, bottom + 28, *shapes))


def _bars(terms: Sequence[TermSpan], along: Scale, top: float) -> list[Element]:
    shapes: list[Element] = []
    colours: dict[str, int] = {}
    for term in terms:
        colour = colours.setdefault(term.node, len(colours))
        left, right = along.at(term.begin_us), along.at(term.end_us)
        is_thin = _is_beside_a_longer(term, terms)
        place = {"y": top + _ROW_PX - 7, "height": 4} if is_thin else {"y": top, "height": _ROW_PX - 8}
        bar = el("rect", x=left, width=max(right - left - 1, 2), rx=2, class_=f"series-{colour % 6}", **place)
        until = f"until {clock_text(term.end_us)}, {term.ending}" if term.ending else "until the trace ends"
        said = f"{term.cluster}: {term.node}, epoch {term.epoch}, from {clock_text(term.begin_us)} {until}"
        shapes.append(hint(bar, said))
        if right - left > 84 and not is_thin:
            shapes.append(text(left + 7, top + 13, short(term.node), class_="on"))
        if term.ending == "cut":
            shapes.append(el("rect", x=right - 3, y=top - 2, width=3, height=_ROW_PX - 4, class_="bad"))
    return shapes


def _is_beside_a_longer(term: TermSpan, terms: Sequence[TermSpan]) -> bool:
    """Whether another, longer one of the cluster overlaps it."""
    span_us = term.end_us - term.begin_us
    return any(
        other.begin_us < term.end_us and term.begin_us < other.end_us and other.end_us - other.begin_us > span_us
        for other in terms
    )
