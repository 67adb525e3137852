"""The share of deliveries that took at most so long, one line per guarantee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from xml.etree.ElementTree import Element

from p2psub.analysis.report.elements import el
from p2psub.analysis.report.page import Bucket
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
    text,
)
from p2psub.analysis.report.scales import Scale, decade_ticks, span_text

_TITLE = "How long deliveries took"
_NOTE = (
    "From publish to hand-over, share of deliveries at or below. Between machines it holds the offset of their clocks."
)
_HEIGHT = 250.0
_BOTTOM = _HEIGHT - 28.0
_MARKS = (0.5, 0.99)


def draw_latency(latency: Mapping[str, Sequence[Bucket]]) -> Element:
    """A cumulative distribution over a logarithmic axis."""
    drawn = {name: buckets for name, buckets in latency.items() if buckets}
    if not drawn:
        return nothing(_TITLE, "The traces tell of no delivery whose publish was traced too.")
    bounds = [max(bucket.upper_us, 1) for buckets in drawn.values() for bucket in buckets]
    ticks = decade_ticks(min(bounds), max(bounds))
    along = Scale(ticks[0], ticks[-1] if len(ticks) > 1 else ticks[0] * 10, LEFT, RIGHT, is_log=True)
    up = Scale(0, 1, _BOTTOM, TOP)
    shapes = [
        *down_axis(up, (0, 0.25, 0.5, 0.75, 1), lambda share: f"{share:.0%}"),
        *along_axis(along, ticks, span_text, _BOTTOM),
    ]
    for number, buckets in enumerate(drawn.values()):
        shapes.extend(_line(buckets, along, up, f"line-{number % 4}"))
    names = legend((f"series-{number % 4}", name) for number, name in enumerate(drawn))
    return figure(_TITLE, _NOTE, names, canvas(_TITLE, _HEIGHT, *shapes))


def _line(buckets: Sequence[Bucket], along: Scale, up: Scale, colour: str) -> list[Element]:
    total = sum(bucket.count for bucket in buckets)
    points = [f"{along.at(max(buckets[0].upper_us, 1)):.1f},{up.at(0):.1f}"]
    share = 0.0
    for bucket, reached in zip(buckets, accumulate(bucket.count for bucket in buckets), strict=True):
        x = along.at(max(bucket.upper_us, 1))
        points.append(f"{x:.1f},{up.at(share):.1f}")
        share = reached / total
        points.append(f"{x:.1f},{up.at(share):.1f}")
    shapes = [el("polyline", points=" ".join(points), class_=f"line {colour}")]
    for mark in _MARKS:
        at_us = quantile(buckets, mark)
        x, y = along.at(max(at_us, 1)), up.at(mark)
        dot = el("circle", cx=x, cy=y, r=3.5, class_=f"dot {colour}")
        label = f"p{mark * 100:g} {span_text(at_us)}"
        shapes.append(hint(dot, label))
        shapes.append(text(x + 7, y + 13, label, class_="mark"))
    return shapes


def quantile(buckets: Sequence[Bucket], share: float) -> int:
    """The upper end of the bucket in which that share of all is reached."""
    wanted = share * sum(bucket.count for bucket in buckets)
    reached = 0
    for bucket in buckets:
        reached += bucket.count
        if reached >= wanted:
            return bucket.upper_us
    return buckets[-1].upper_us
