"""The hypercube, flat: every prefix is a rectangle, and its bits halve the square in turn, across and down.

Halves are laid out in reflected Gray code, as in a Karnaugh map: the two sides of every edge between them differ in one
bit, which is what makes super-nodes neighbours. A prefix that was split less often has a larger rectangle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

from p2psub.analysis.report.elements import el
from p2psub.analysis.report.page import Cell
from p2psub.analysis.report.plots.canvas import RIGHT, canvas, figure, hint, nothing, short, text
from p2psub.model.graycode import Prefix, owns_label, padded_flip, position_of

EDGES_SHOWN_MAX: Final = 64
"""Of super-nodes; of more, lines would hide what they join."""

_TITLE = "The hypercube and its load"
_NOTE = (
    "One rectangle per cluster, placed by its Gray-code prefix; the darker, the more transfers of casts its peers sent "
    "and received. Lines join neighbours."
)
_SIDE = 300.0
_LEFT = 20.0
_TOP = 6.0
_HEIGHT = 320.0
_PALE, _DARK = 0.06, 0.78


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


def box_of(prefix: str) -> Box:
    """Where a prefix lies in the unit square: bits at even places go across, the others down."""
    across, down = prefix[::2], prefix[1::2]
    width, height = 0.5 ** len(across), 0.5 ** len(down)
    return Box(_rank(across) * width, _rank(down) * height, width, height)


def _rank(bits: str) -> int:
    return position_of(int(bits, 2)) if bits else 0


def draw_cube(cells: Sequence[Cell], left_out: int = 0) -> Element:
    """The picture, with a list of the most loaded beside it. Cells may be `left_out`."""
    if not cells:
        return nothing(_TITLE, "The traces tell of no super-node with a place in the cube.")
    heaviest = max([1, *(cell.load for cell in cells)])
    shapes = [shape for cell in cells for shape in _cell(cell, heaviest, len(cells))]
    if len(cells) <= EDGES_SHOWN_MAX:
        shapes.extend(_edges(cells))
    note = _NOTE + (f" {left_out:,} more clusters are in tables/places." if left_out else "")
    return figure(_TITLE, note, canvas(_TITLE, _HEIGHT, *shapes, *_ranking(cells, heaviest)))


def _drawn(prefix: str) -> Box:
    box = box_of(prefix)
    return Box(_LEFT + box.x * _SIDE, _TOP + box.y * _SIDE, box.width * _SIDE, box.height * _SIDE)


def _cell(cell: Cell, heaviest: int, among: int) -> list[Element]:
    box = _drawn(cell.prefix)
    shade = _PALE + (_DARK - _PALE) * cell.load / heaviest
    rect = el("rect", x=box.x + 1, y=box.y + 1, width=max(box.width - 2, 0.5), height=max(box.height - 2, 0.5))
    rect.set("class", "cell")
    rect.set("fill-opacity", f"{shade:.3f}")
    said = f"{cell.cluster}, prefix {cell.prefix or '(whole cube)'}, super-node {cell.node}: {cell.load:,} transfers"
    shapes = [hint(rect, said)]
    if among <= EDGES_SHOWN_MAX and min(box.width, box.height) >= 36:
        shapes.append(text(box.x + 7, box.y + 17, cell.prefix or "whole", class_="id"))
    return shapes


def _edges(cells: Sequence[Cell]) -> list[Element]:
    owners = [Prefix(cell.prefix) for cell in cells]
    pairs = set()
    for prefix in owners:
        for dimension in range(len(prefix)):
            label = padded_flip(prefix, dimension)
            other = next((one for one in owners if owns_label(one, label)), None)
            if other is not None and other != prefix:
                pairs.add((min(prefix, other), max(prefix, other)))
    lines: list[Element] = []
    for one, other in sorted(pairs):
        (x1, y1), (x2, y2) = _drawn(one).middle, _drawn(other).middle
        # Those that lie apart are joined in a bow, so that no line runs through a third.
        bow = 0.12 if abs(x1 - x2) + abs(y1 - y2) > _SIDE / 2 + 1 else 0.0
        cx, cy = (x1 + x2) / 2 + (y1 - y2) * bow, (y1 + y2) / 2 + (x2 - x1) * bow
        lines.append(el("path", d=f"M{x1:.1f} {y1:.1f}Q{cx:.1f} {cy:.1f} {x2:.1f} {y2:.1f}", class_="edge"))
    for prefix in owners:
        x, y = _drawn(prefix).middle
        lines.append(el("circle", cx=x, cy=y, r=3, class_="vertex"))
    return lines


def _ranking(cells: Sequence[Cell], heaviest: int) -> list[Element]:
    """Who carries most, in words: a shade is not a number."""
    left, right = _LEFT + _SIDE + 24, RIGHT
    mean = sum(cell.load for cell in cells) / len(cells)
    balance = f"most loaded: {heaviest / mean:.2f} of the mean" if mean else "nothing was transferred"
    shapes = [text(left, _TOP + 14, f"{len(cells)} clusters, {balance}", class_="mark")]
    ordered = sorted(cells, key=lambda cell: (-cell.load, cell.prefix))
    for number, cell in enumerate(ordered[:12]):
        y = _TOP + 38 + number * 22
        width = (right - left) * cell.load / heaviest
        shapes.append(el("rect", x=left, y=y + 5, width=max(width, 0.5), height=4, rx=2, class_="cell"))
        name = f"{cell.cluster[:24]} · {cell.prefix[:12] or 'whole'} · {short(cell.node)}"
        shapes.append(text(left, y, name, class_="small"))
        shapes.append(text(right, y, f"{cell.load:,}", "end", class_="small"))
    return shapes
