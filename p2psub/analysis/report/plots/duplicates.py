"""What arrived again, node by node and by cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from p2psub.analysis.report.elements import el
from p2psub.analysis.report.page import NodeDuplicates
from p2psub.analysis.report.plots.canvas import (
    RIGHT,
    TOP,
    along_axis,
    canvas,
    figure,
    hint,
    legend,
    nothing,
    short,
    text,
)
from p2psub.analysis.report.scales import Scale, count_ticks

NODES_SHOWN: Final = 24

_TITLE = "What arrived again, by node"
_NOTE = "Copies that a node recognised and let go no further. They cost a transfer, and no application saw them."
_LEFT = 96.0
_ROW_PX = 17.0


def draw_duplicates(nodes: Sequence[NodeDuplicates]) -> Element:
    """A bar per node, those with most first."""
    found = sorted((node for node in nodes if node.total), key=lambda node: (-node.total, node.node))
    if not found:
        return nothing(_TITLE, "Nothing arrived twice anywhere.")
    shown = found[:NODES_SHOWN]
    causes = sorted({cause for node in found for cause in node.causes})
    bottom = TOP + len(shown) * _ROW_PX + 4
    along = Scale(0, shown[0].total, _LEFT, RIGHT - 40)
    whole = [float(tick) for tick in count_ticks(shown[0].total) if tick == int(tick)]
    shapes = along_axis(along, whole, lambda value: f"{value:,.0f}", bottom)
    for number, node in enumerate(shown):
        shapes.extend(_row(node, causes, along, TOP + number * _ROW_PX))
    note = _NOTE + (" Others have as many or fewer: see tables/duplicates." if len(found) > NODES_SHOWN else "")
    names = legend((f"series-{number % 6}", cause) for number, cause in enumerate(causes))
    return figure(_TITLE, note, names, canvas(_TITLE, bottom + 28, *shapes))


def _row(node: NodeDuplicates, causes: Sequence[str], along: Scale, top: float) -> list[Element]:
    shapes = [text(_LEFT - 8, top + 12, short(node.node), "end", class_="id")]
    floor = 0
    for number, cause in enumerate(causes):
        count = node.causes.get(cause, 0)
        if not count:
            continue
        left, right = along.at(floor), along.at(floor + count)
        bar = el("rect", x=left, y=top, width=max(right - left - 1, 1), height=_ROW_PX - 4, rx=2)
        bar.set("class", f"series-{number % 6}")
        shapes.append(hint(bar, f"{node.node}: {count:,} {cause}, of {node.received:,} that arrived"))
        floor += count
    return [*shapes, text(along.at(floor) + 6, top + 12, f"{floor:,}", class_="mark")]
