"""The top of the page: does everything hold, and the figures one asks for first."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from p2psub.analysis.report.elements import el
from p2psub.analysis.report.page import Page

Figures = Mapping[str, object]


def verdict(page: Page) -> Element:
    """One sentence that says whether a person may go back to sleep."""
    if page.violated:
        found = _count(page.violated, "time", "times")
        return _said(
            "bad", f"Promises were broken {found}", "Each promise is listed below, with the records that show it."
        )
    unknown = max(page.unknown, number_of(page.figures, "unknown"))
    if unknown:
        return _said(
            "unknown",
            "No promise was broken, as far as the traces tell",
            f"{_count(unknown, 'answer lies', 'answers lie')} in records that are missing: a killed process takes its "
            "last second of trace along. That is neither lost nor delivered.",
        )
    is_whole = not page.cut and not page.skipped
    missing = "no record is missing" if is_whole else "no answer lies where traces were cut or files skipped"
    return _said("", "Every promise holds", f"All audits passed, and {missing}.")


def _said(colour: str, said: str, more: str) -> Element:
    return el("div", el("b", said), more, class_=f"verdict {colour}".strip(), id="verdict")


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def tiles(figures: Figures) -> Element:
    """The headline figures."""
    latency = figures.get("latency_ms")
    latency = latency if isinstance(latency, Mapping) else {}
    lost, unknown = number_of(figures, "lost"), number_of(figures, "unknown")
    made = [
        _tile("coverage", share_text(figures.get("coverage")), "of the pairs that had a claim were served"),
        _tile(
            "delivered",
            _value(figures.get("delivered")),
            f"of {_value(figures.get('matched'))} matched, {_value(figures.get('published'))} events published",
        ),
        _tile("lost", _value(figures.get("lost")), "acknowledged, and reached no end", "bad" if lost else ""),
        _tile(
            "unknown",
            _value(figures.get("unknown")),
            "may lie in missing records",
            "unknown" if unknown else "",
        ),
        _tile("casts", share_text(figures.get("cast_coverage")), "of the super-nodes that broadcasts were meant for"),
        _tile(
            "duplicate rate",
            share_text(figures.get("duplicate_rate")),
            f"{_value(figures.get('duplicates'))} arrived again, and went no further",
        ),
        _tile(
            "latency, median",
            _ms(latency.get("p50")),
            f"p99 {_ms(latency.get('p99'))}, longest {_ms(latency.get('max'))}",
        ),
        _tile(
            "messages per cast",
            _value(figures.get("messages_per_cast")),
            f"at most {_value(figures.get('hops_max'))} hops",
        ),
        _tile(
            "earned",
            _value(figures.get("earned")),
            f"by {_value(figures.get('on_time'))} pairs, less penalties of {_value(figures.get('penalties'))}",
        ),
        _tile("failovers", _value(figures.get("failovers")), "another peer became a cluster's super-node"),
        _tile(
            "records read",
            _value(figures.get("rows")),
            _count(number_of(figures, "files_skipped"), "file", "files") + " skipped",
        ),
    ]
    return el("dl", *made, class_="tiles", id="headline")


def _tile(name: str, value: str, more: str, colour: str = "") -> Element:
    inside = el("dd", el("div", value, class_="value"), el("div", more, class_="more"))
    return el("div", el("dt", name), inside, class_=f"tile {colour}".strip())


def number_of(figures: Figures, name: str) -> int:
    """A figure that counts something; 0 if it is not there."""
    value = figures.get(name)
    return value if isinstance(value, int) else 0


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else "–"


def share_text(value: object) -> str:
    """A share in per cent that is never rounded up to the whole."""
    if not isinstance(value, int | float):
        return "–"
    text = f"{value:.3%}"
    if value < 1 and text == "100.000%":
        text = "99.999%"
    return text.replace(".000%", "%")


def _ms(value: object) -> str:
    if not isinstance(value, int | float):
        return "–"
    return f"{value / 1000:,.3g} s" if value >= 1000 else f"{value:,.3g} ms"
