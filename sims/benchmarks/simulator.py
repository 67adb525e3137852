"""Speed of the simulator: node x virtual seconds per CPU second, 64 nodes under the default load without faults.

python -m sims.benchmarks.simulator
"""

from __future__ import annotations

import gc
import json
import sys
from time import process_time

from p2psub.compiled import is_compiled
from p2psub.model.instants import SECOND_US
from sims.scenarios.scenario import Scenario
from sims.scenarios.stage import Stage
from sims.workloads.applications import Applications

WARM_SECONDS = 10
MEASURED_SECONDS = 60
TARGET = 3_000


def measure(seconds: int = MEASURED_SECONDS) -> dict[str, float]:
    """Form an overlay, load it, and time a stretch of it; checkers are not part of it, the trace and its digest are."""
    stage = Stage(Scenario(clusters=8, members=8, faults=(), schedules=()), seed=1, codec_share=50)
    gc.disable()
    assert stage.form(), "the overlay did not form"
    world = stage.world
    Applications(world, stage.scenario.load, 1).start(world.now + (WARM_SECONDS + seconds) * SECOND_US)
    world.run_for(WARM_SECONDS * SECOND_US)
    received, steps, records = world.network.traffic.received, world.steps, world.trace.count
    began = process_time()
    world.run_for(seconds * SECOND_US)
    world.trace.digest()
    took = process_time() - began
    gc.enable()
    nodes = len(stage.saboteur.peers())
    messages = world.network.traffic.received - received
    return {
        "nodes": nodes,
        "virtual_seconds": seconds,
        "cpu_seconds": round(took, 3),
        "node_seconds_per_cpu_second": round(nodes * seconds / took, 1),
        "target": TARGET,
        "messages_per_node_second": round(messages / nodes / seconds, 1),
        "steps_per_node_second": round((world.steps - steps) / nodes / seconds, 1),
        "records_per_node_second": round((world.trace.count - records) / nodes / seconds, 1),
        "microseconds_per_message": round(took / max(1, messages) * 1e6, 2),
        "compiled": is_compiled(),
    }


def main() -> None:
    """Print the figures, as JSON with --json."""
    figures = measure()
    if "--json" in sys.argv:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:30} {value if isinstance(value, bool) else format(value, ','):>12}")


if __name__ == "__main__":
    main()
