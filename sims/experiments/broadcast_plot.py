"""Coverage and duplicates over the number of nodes, as in figures 5 and 6 of Hyper."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from sims.experiments.broadcast import Result

MARKS = {"flooding": "s", "gossip": "^", "hypercube": "o"}


def draw(path: Path, results: list[Result]) -> None:
    """Draw the means over all seeds, with the worst and the best of them as bars."""
    import matplotlib as mpl  # noqa: PLC0415, an extra that only this needs

    mpl.use("Agg")
    # The same results give the same file.
    mpl.rcParams["svg.hashsalt"] = "p2psub"
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, (coverage, duplicates) = plt.subplots(1, 2, figsize=(10, 4))
    for algorithm in dict.fromkeys(result.algorithm for result in results):
        ours = [result for result in results if result.algorithm is algorithm]
        sizes = sorted({result.nodes for result in ours})
        for axes, values in (
            (coverage, [[100 * r.coverage for r in ours if r.nodes == size] for size in sizes]),
            (duplicates, [[r.duplicate_rate for r in ours if r.nodes == size] for size in sizes]),
        ):
            means = [fmean(some) for some in values]
            down = [mean - min(some) for mean, some in zip(means, values, strict=True)]
            up = [max(some) - mean for mean, some in zip(means, values, strict=True)]
            axes.errorbar(
                sizes, means, [down, up], marker=MARKS[algorithm], mfc="none", capsize=2, label=algorithm.value
            )
    coverage.set_ylabel("coverage, % of live nodes")
    duplicates.set_ylabel("duplicates per node")
    coverage.set_ylim(0, 105)
    for axes in (coverage, duplicates):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("super-nodes")
        axes.grid(alpha=0.3)
    coverage.legend()
    failed = results[0].failed
    figure.suptitle("Broadcast" + (f", {failed:.0%} of the nodes dead" if failed else ""))
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
