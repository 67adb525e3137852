"""Figures while peers write: what is there is counted, once, and the last are those of an analysis afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from p2psub.analysis.compaction import compact
from p2psub.analysis.follower import Follower
from p2psub.analysis.headline import headline
from p2psub.traces.segments import SegmentName
from tests.analysis.traces import market


@pytest.mark.slow
def test_the_last_figures_are_those_of_an_analysis_afterwards(spark: SparkSession, tmp_path: Path) -> None:
    """Segments appear in two rounds, also twice, damaged, shorter than later, overlapping; one round has no news."""
    written, followed = tmp_path / "written", tmp_path / "followed"
    market().write(written, batch=3)
    segments = sorted(written.rglob("*.ndjson"), key=lambda path: (path.name[-24:], path.name))
    followed.mkdir()
    follower = Follower(spark, [followed, followed / "copy", followed], tmp_path / "workspace")
    assert follower.read() is False
    published = []
    cut_short = segments[-1]
    lines = cut_short.read_bytes().splitlines(keepends=True)
    for number in range(2):
        for segment in segments[number::2]:
            place = followed / segment.relative_to(written)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(segment, place)
        if number == 0:
            (followed / "short").mkdir()
            (followed / "short" / cut_short.name).write_bytes(b"".join(lines[:-1]))
        if number == 1:
            # Records that two segments hold count once.
            again = SegmentName.named(segments[0].name)
            assert again is not None
            beside = followed / again._replace(first=again.first + 1).file_name
            beside.write_bytes(b"".join(segments[0].read_bytes().splitlines(keepends=True)[1:]))
            (followed / "copy").mkdir()
            shutil.copy(segments[0], followed / "copy" / segments[0].name)
            (followed / "0123456789-1-000000000001.v5.ndjson").write_text('{"kind": "publ')
            (followed / ".draft.ndjson").write_text("half")
        assert follower.read() is True
        published.append(follower.figures()["published"])
    assert follower.read() is False
    last = follower.figures()
    afterwards = headline(compact(spark, [followed], tmp_path / "compacted"))
    assert last == afterwards
    assert (last["files"], last["files_repeated"], last["files_skipped"]) == (len(segments) + 1, 2, 1)
    assert published == sorted(published)
    assert 0 < published[0] < published[-1]
