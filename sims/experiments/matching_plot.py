"""Time and memory over the number of subscriptions, as in figures 4 and 5 of Once."""

from __future__ import annotations

from pathlib import Path

from sims.experiments.matching import MatchingReading, interleaved_plan, pure_plan, run_engine

STEPS = 10
DRAWN = ("p2psub", "siena")


def draw(
    path: Path, subscriptions: int, events: int, interleaved: bool, seed: int, reading: MatchingReading
) -> list[dict[str, object]]:
    """Run tenths of the size, draw them, and return what was drawn."""
    import matplotlib as mpl  # noqa: PLC0415, an extra that only this needs

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    points: list[dict[str, object]] = []
    make = interleaved_plan if interleaved else pure_plan
    for step in range(1, STEPS + 1):
        size = max(1, subscriptions * step // STEPS)
        plan = make(seed, size, events, reading)
        points += [{"subscriptions": size, "engine": name, **run_engine(name, plan)} for name in DRAWN]
    figure, (time, memory) = plt.subplots(1, 2, figsize=(10, 4))
    for name in DRAWN:
        ours = [point for point in points if point["engine"] == name]
        sizes = [point["subscriptions"] for point in ours]
        time.plot(sizes, [point["seconds"] for point in ours], marker="o", label=name)
        memory.plot(sizes, [float(str(point["bytes"])) / 2**20 for point in ours], marker="o", label=name)
    time.set_ylabel("CPU seconds")
    memory.set_ylabel("MiB")
    for axes in (time, memory):
        axes.set_xlabel("subscriptions")
        axes.set_ylim(bottom=0)
        axes.legend()
    what = f"{events:,} operations, interleaved" if interleaved else f"{events:,} events"
    figure.suptitle(f"Matching: {what}")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return points
