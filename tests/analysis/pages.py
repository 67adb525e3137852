"""A report's page, made up: something in every part of it."""

from __future__ import annotations

from random import Random

from p2psub.analysis.report.page import Bucket, Cell, Grid, NodeDuplicates, Page, ShownFinding, Slice, TermSpan
from p2psub.model.graycode import label_of

BEGIN_US = 1_790_000_000_000_000
SECOND_US = 1_000_000
FIGURES: dict[str, object] = {
    "coverage": 0.99984,
    "cast_coverage": 1.0,
    "duplicate_rate": 0.0021,
    "messages_per_cast": 15.02,
    "hops_max": 4,
    "published": 500,
    "matched": 1553,
    "delivered": 1548,
    "lost": 1,
    "unknown": 4,
    "duplicates": 12,
    "latency_ms": {"p50": 21.9, "p99": 1155.0, "max": 4155.2},
    "failovers": 2,
    "rows": 182_344,
    "files_skipped": 1,
    "cut": 1,
}


def node_named(number: int) -> str:
    """A node's id in hex."""
    return Random(number).randbytes(20).hex()


def make_page(text: str = "quotes/ACME") -> Page:
    """A page in which `text` stands wherever a trace's own words may."""
    rng = Random(3)
    pairs = [
        Slice(
            BEGIN_US + number * SECOND_US,
            BEGIN_US + (number + 1) * SECOND_US,
            {
                "delivered": rng.randrange(40, 80),
                "ended": 3 * (number % 7 == 0),
                "unknown": 4 * (number == 22),
                "lost": int(number == 23),
            },
        )
        for number in range(40)
    ]
    reach = [Slice(one.begin_us, one.end_us, {"reached": rng.randrange(10, 30), "missed": 0}) for one in pairs]
    labels = [*(label_of(number, 4) for number in range(12)), "101", "100"]
    return Page(
        sources=(f"/srv/{text}",),
        made_at="2026-11-16 03:12 UTC",
        figures=FIGURES,
        violated=1,
        unknown=1,
        findings=(
            ShownFinding("S1", "violated", f"lost: {text}", BEGIN_US, f"{node_named(1)[:10]}-1 #812", f"event {text}"),
            ShownFinding("S1", "unknown", "may lie in a cut trace", None, "", "event a22585e5ac.1.5"),
        ),
        pairs=tuple(pairs),
        reach=tuple(reach),
        latency={
            "effectively_once": tuple(Bucket(round(4000 * 1.09**n), 1 + (30 - abs(n - 20)) ** 2) for n in range(50)),
            text: tuple(Bucket(round(900 * 1.12**n), 1 + (12 - abs(n - 12)) ** 2) for n in range(24)),
        },
        duplicates=tuple(
            NodeDuplicates(node_named(n), 900 + n, {"publish_repeated": rng.randrange(9), text: rng.randrange(4)})
            for n in range(9)
        ),
        cells=tuple(Cell(label, f"cluster-{n}", node_named(n), 400 + 90 * n) for n, label in enumerate(labels)),
        terms=(
            TermSpan("cluster-1", node_named(1), 1, BEGIN_US, BEGIN_US + 40 * SECOND_US),
            TermSpan("cluster-2", node_named(2), 1, BEGIN_US, BEGIN_US + 18 * SECOND_US, "cut"),
            TermSpan("cluster-2", node_named(3), 2, BEGIN_US + 21 * SECOND_US, BEGIN_US + 40 * SECOND_US),
            TermSpan(text, node_named(4), 1, BEGIN_US + 2 * SECOND_US, BEGIN_US + 20 * SECOND_US, "abdicated"),
            TermSpan(text, node_named(5), 2, BEGIN_US + 20 * SECOND_US, BEGIN_US + 40 * SECOND_US),
        ),
        grids=(Grid("Load of every peer", "Records.", ("peer", text), ((node_named(1), text),), is_shortened=True),),
        skipped=((f"{text}.ndjson", f"line 3: {text}"),),
        cut=((f"{node_named(2)[:10]}-1", "2026-11-16 03:11:58.120"),),
    )
