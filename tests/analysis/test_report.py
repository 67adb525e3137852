"""The report: one page for people, whatever the traces say, in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from p2psub.analysis.report.document import render
from p2psub.analysis.report.elements import el, markup
from p2psub.analysis.report.headline import share_text
from p2psub.analysis.report.page import Bucket, Page
from p2psub.analysis.report.plots.cube import box_of
from p2psub.analysis.report.plots.latency import quantile
from p2psub.analysis.report.scales import count_ticks, moment_text, time_ticks
from p2psub.model.graycode import label_of
from tests.analysis.pages import BEGIN_US, SECOND_US, make_page, node_named

HOSTILE = (
    "</title></style><script>document.title='owned'</script><img src=http://x.invalid/a onerror=alert(1)>\"'&\x00\u202e"
)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
BROWSER_S_MAX = 120.0
PROBE = """<script>
const said = document.body.dataset, plots = [...document.querySelectorAll("svg.plot")]
const shapes = "rect,path,polyline,circle"
said.plots = plots.map(p => p.getBoundingClientRect().height > 50 && p.querySelectorAll(shapes).length > 4)
said.asked = performance.getEntriesByType("resource").length
said.wide = document.documentElement.scrollWidth > innerWidth
</script>"""
"""Writes on the page what only a script can tell: whether plots have a size and a content, and what was loaded."""


class Tags(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)


def test_hostile_words_stay_words() -> None:
    """The same elements stand on the page, whatever topics, reasons and file names say."""
    tame, hostile = Tags(render(make_page("quotes"))), Tags(render(make_page(HOSTILE)))
    assert Counter(hostile.tags) == Counter(tame.tags)
    assert {name for name, _ in hostile.attributes} == {name for name, _ in tame.attributes}


def test_the_page_needs_nothing_but_itself() -> None:
    """No script, no address of anything outside, and a policy that forbids both."""
    page = Tags(render(make_page()))
    assert not {"script", "link", "img", "iframe", "object", "base", "form"} & set(page.tags)
    assert not {"src", "href", "srcset", "action"} & {name for name, _ in page.attributes}
    assert "url(" not in render(make_page())
    assert any("default-src 'none'" in (value or "") for name, value in page.attributes if name == "content")


def test_characters_that_no_page_may_hold_are_replaced() -> None:
    """Control characters, halves of surrogate pairs, and what turns the reading direction."""
    said = markup(el("p", "a\x00b\ud800c\u202ed", title="\x1b"))
    assert said == '<!DOCTYPE html>\n<p title="\ufffd">a\ufffdb\ufffdc\ufffdd</p>\n'


def test_a_page_about_nothing_says_so() -> None:
    """Traces without a single event make a page, too: no plot, a reason in place of each."""
    page = render(Page(sources=("traces",), made_at="now", figures={}))
    assert page.count('class="nothing"') == 6
    assert "<svg" not in page
    assert "All audits passed, and no record is missing." in page


def test_whether_to_go_back_to_sleep_is_said_with_its_reason() -> None:
    """Unknown figures show also where no audit has one; a cut trace in which no answer lies is none."""
    sound = Page(sources=("traces",), made_at="now", figures={})
    assert "no answer lies where traces were cut" in render(replace(sound, cut=(("ann", "then"),)))
    assert "2 answers lie in records that are missing" in render(replace(sound, figures={"unknown": 2}))
    assert "1 answer lies in records that are missing" in render(replace(sound, unknown=1))


def test_a_broken_promise_is_the_first_thing_one_reads() -> None:
    """And every finding stands there with its record."""
    page = render(make_page())
    assert page.index("Promises were broken 1 time") < page.index("coverage")
    assert f"{node_named(1)[:10]}-1 #812" in page


def test_a_share_is_never_rounded_up_to_the_whole() -> None:
    """One pair lost in a million is not 100 %."""
    assert [share_text(share) for share in (1.0, 0.999_999_9, 0.5, 0.0, None)] == [
        "100%",
        "99.999%",
        "50%",
        "0%",
        "–",
    ]


def test_what_is_too_much_for_a_page_is_counted_all_the_same() -> None:
    """The figures, not the rows that are shown; and where the others are."""
    page = make_page()
    figures = {**page.figures, "cut": 1_200, "files_skipped": 900}
    written = render(replace(page, figures=figures, cells_left_out=7, terms_left_out=8))
    for said in (
        "Traces that were cut: 1,200.",
        "Files that were skipped: 900.",
        "7 more clusters are in tables/places.",
        "8 later terms are in tables/timeline.",
    ):
        assert said in written
    # Of both lists, and of the one that the page had shortened before.
    assert written.count("More rows are in the tables beside this page.") == 3


def test_neighbours_in_the_cube_lie_side_by_side() -> None:
    """Along a row or column of the picture the labels differ in one bit (Hyper 2.1), and together they fill it."""
    labels = [label_of(position, 4) for position in range(16)]
    boxes = {(box.x, box.y): label for label in labels for box in [box_of(label)]}
    for (x, y), label in boxes.items():
        for other in (boxes.get((x + 0.25, y)), boxes.get((x, y + 0.25))):
            assert other is None or sum(a != b for a, b in zip(label, other, strict=True)) == 1
    assert len(boxes) == 16
    assert sum(box.width * box.height for box in map(box_of, ("0", "10", "110", "111"))) == 1.0


def test_a_quantile_is_the_end_of_the_bucket_that_reaches_it() -> None:
    """Half of four is in the second bucket."""
    buckets = [Bucket(10, 1), Bucket(20, 1), Bucket(30, 2)]
    assert [quantile(buckets, share) for share in (0.0, 0.25, 0.5, 0.51, 1.0)] == [10, 10, 20, 30, 30]


def test_ticks_are_round_and_inside() -> None:
    """A person reads them without arithmetic."""
    assert count_ticks(83) == [0, 50]
    assert count_ticks(0) == [0]
    ticks, say = time_ticks(BEGIN_US + 1, BEGIN_US + 40 * SECOND_US)
    assert [say(tick) for tick in ticks] == ["14:13:30", "14:13:40", "14:13:50", "14:14:00"]
    assert moment_text(BEGIN_US + 1_234) == "2026-09-21 14:13:20.001"
    assert moment_text(-5) == "1970-01-01 00:00:00.000"


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; install it, e.g. apt-get install chromium")
def test_a_browser_shows_every_plot_and_asks_nobody_for_anything(tmp_path: Path) -> None:
    """Chromium lays the page out: six plots that have a size, no message in its console, no request."""
    page = tmp_path / "report.html"
    written = render(make_page(HOSTILE))
    page.write_text(written, encoding="utf-8")
    said = browse(page, tmp_path)
    assert "<title>p2psub: what the traces tell</title>" in said.stdout
    assert said.stdout.count('<svg viewBox="0 0 640') == 6
    assert "CONSOLE" not in said.stderr
    # The same with our script, and a policy that lets it run.
    relaxed = written.replace("default-src 'none'", "default-src 'none'; script-src 'unsafe-inline'")
    page.write_text(relaxed.replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    said = browse(page, tmp_path)
    assert f'data-plots="{",".join(["true"] * 6)}"' in said.stdout
    assert 'data-asked="0"' in said.stdout
    assert 'data-wide="false"' in said.stdout
    assert "owned" not in re.findall("<title>(.*?)</title>", said.stdout)[0]
    assert "CONSOLE" not in said.stderr


def browse(page: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """The page as the browser has it in the end, and what its console said."""
    assert CHROMIUM is not None
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--window-size=1280,900")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = [CHROMIUM, *options, profile, "--dump-dom", page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=BROWSER_S_MAX, check=True)
