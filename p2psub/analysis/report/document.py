"""The report: one page that needs nothing but itself, and runs no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Final
from xml.etree.ElementTree import Element

from p2psub.analysis.report.elements import el, markup
from p2psub.analysis.report.headline import number_of, tiles, verdict
from p2psub.analysis.report.page import Grid, Page, ShownFinding
from p2psub.analysis.report.plots.cube import draw_cube
from p2psub.analysis.report.plots.duplicates import draw_duplicates
from p2psub.analysis.report.plots.latency import draw_latency
from p2psub.analysis.report.plots.slices import draw_slices
from p2psub.analysis.report.plots.terms import draw_terms
from p2psub.analysis.report.scales import moment_text

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Even if markup got in, a browser would load nothing and run nothing."""

_PAIRS: Final = {
    "delivered": "good",
    "ended": "quiet",
    "still owed": "open",
    "missed": "series-4",
    "unknown": "unknown",
    "lost": "bad",
}
_REACH: Final = {"reached": "good", "unknown": "unknown", "missed": "bad"}


def render(page: Page) -> str:
    """The whole page as HTML."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", **{"http-equiv": "Content-Security-Policy", "content": _POLICY}),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", "p2psub: what the traces tell"),
        el("style", files(__package__).joinpath("style.css").read_text(encoding="utf-8")),
    )
    body = el(
        "body",
        el("h1", "What the traces tell"),
        el("p", f"{', '.join(page.sources)} · made {page.made_at}", class_="from"),
        verdict(page),
        tiles(page.figures),
        *_findings(page),
        el("h2", "Pictures"),
        el("div", *_plots(page), class_="plots", id="plots"),
        *_grids(page.grids),
        *_notes(page),
    )
    return markup(el("html", head, body, lang="en"))


def _plots(page: Page) -> Iterable[Element]:
    yield draw_slices(
        "Events: what became of each pair",
        "A pair is an event and a subscription, by the time of publishing (UTC). Only at_most_once may be missed.",
        page.pairs,
        _PAIRS,
    )
    yield draw_slices(
        "Casts: whom they reached",
        "Super-nodes that a cast was meant for, by the time it began (UTC).",
        page.reach,
        _REACH,
    )
    yield draw_latency(page.latency)
    yield draw_duplicates(page.duplicates)
    yield draw_cube(page.cells, page.cells_left_out)
    yield draw_terms(page.terms, page.terms_left_out)


def _findings(page: Page) -> Iterable[Element]:
    if not page.findings:
        return
    yield el("h2", "What does not hold, or is not known")
    rows = [_finding(finding) for finding in page.findings]
    head = _head(("promise", "verdict", "what", "when (UTC)", "record", "about"))
    left_out = page.violated + page.unknown - len(page.findings)
    note = f"{left_out:,} more are in tables/violations." if left_out > 0 else "All of them; also in tables/violations."
    table = el("div", el("table", head, el("tbody", *rows)), class_="scroll")
    yield el("div", el("p", note), table, class_="card", id="violations")


def _finding(finding: ShownFinding) -> Element:
    colour = "bad" if finding.verdict == "violated" else "unknown"
    return el(
        "tr",
        el("td", finding.invariant, class_="narrow"),
        el("td", el("span", finding.verdict, class_=f"pill {colour}")),
        el("td", finding.text),
        el("td", moment_text(finding.wall_us), class_="narrow"),
        el("td", finding.record, class_="id"),
        el("td", finding.about, class_="id"),
    )


def _grids(grids: Iterable[Grid]) -> Iterable[Element]:
    made = [_grid(grid) for grid in grids if grid.rows]
    return [el("h2", "Tables"), *made] if made else []


def _grid(grid: Grid) -> Element:
    rows = [el("tr", *(el("td", cell, class_=_cell_class(cell)) for cell in row)) for row in grid.rows]
    table = el("div", el("table", _head(grid.columns), el("tbody", *rows)), class_="scroll")
    note = grid.note + (" More rows are in the tables beside this page." if grid.is_shortened else "")
    return el("details", el("summary", grid.title), el("p", note), table, class_="card")


def _head(columns: Sequence[str]) -> Element:
    return el("thead", el("tr", *(el("th", column) for column in columns)))


def _cell_class(cell: str) -> str | None:
    return "narrow" if len(cell) <= 24 else None


def _notes(page: Page) -> Iterable[Element]:
    yield el("h2", "How far to trust this")
    cut, skipped = number_of(page.figures, "cut"), number_of(page.figures, "files_skipped")
    notes = [
        el(
            "li",
            "Times are the hybrid clocks of the peers. A latency between two machines holds the offset of their "
            "clocks; the order of cause and effect does not.",
        ),
        el(
            "li",
            f"Traces that were cut: {cut:,}. What followed in them is unknown, never lost nor delivered.",
        ),
        el("li", f"Files that were skipped: {skipped:,}. Nothing in them is in any figure."),
        el(
            "li",
            "Of events that are at_most_once peers trace one in 64, and count the others; figures by pair and "
            "latencies are of those that are traced.",
        ),
    ]
    yield el("div", el("ul", *notes, class_="notes"), class_="card")
    if page.cut:
        note, columns = "The process, and its last record.", ("process", "ends")
        yield _grid(Grid("Traces that were cut", note, columns, page.cut, is_shortened=cut > len(page.cut)))
    if page.skipped:
        is_shortened = skipped > len(page.skipped)
        yield _grid(Grid("Files that were skipped", "And why.", ("file", "why"), page.skipped, is_shortened))
