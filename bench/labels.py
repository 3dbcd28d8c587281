"""Labels of the mutants that owe nothing to the falsifier: does the kernel compute something else?

    python bench/labels.py --out FILE [--part K/N] [--shapes 12]

Every mutant of `tests/bugs/mutants.jsonl` runs on the GPU of this host, on inputs of several distributions,
at the task's sizes and at sizes drawn at random, and is compared with the task's reference in float64. It is
wrong when a value is off by more than a thousandth of the largest, when NaN and infinity differ, or when it
faults or does not end. What the comparison cannot see stays open: a race that happened to go well, a read
past the end whose value is not used. So a difference is evidence, and the absence of one is none."""

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agents import synthesis
from kshell import tasks
from kshell.bench import bugs
from kshell.harness import cuda
from kshell.harness.cases import side_shapes
from kshell.harness.cuda import CudaEvaluator
from kshell.harness.cuda_link import WorkerFailure
from kshell.tasks import reference
from semantics.span import Refusal
from semantics.task import Task, Workload

Run = Callable[[str, Task, Workload, dict[str, Any]], Awaitable[dict[str, Any]]]
FAR = 1e-3
LARGEST = 1 << 25
"""Bytes of all tensors of a shape that is tried."""


def shapes_of(task: Task, count: int) -> list[Workload]:
    """The task's sizes, then others."""
    rng = random.Random(f"labels {task.name}")
    found = [task.workload()]
    for _ in range(4 * count):
        for _, shape in side_shapes(task, task.workload(), rng):
            if shape not in found and task.work(shape)[1] <= LARGEST:
                found.append(shape)
    return found[:1] + rng.sample(found[1:], min(count - 1, len(found) - 1))


def difference(got: dict[str, Any], want: dict[str, Any]) -> tuple[str, float]:
    """What is wrong with the outputs, if anything, and the largest error in parts of the largest value."""
    worst = 0.0
    for name, expected in want.items():
        flat = np.asarray(expected, np.float64).reshape(-1)
        own = np.asarray(got[name], np.float64).reshape(-1)
        finite = np.isfinite(flat)
        if not np.array_equal(np.isfinite(own), finite):
            return f"{name}: NaN or infinity in other places", float("inf")
        scale = float(np.abs(flat[finite]).max(initial=1e-6))
        off = np.abs(own[finite] - flat[finite]) / scale
        worst = max(worst, float(off.max(initial=0.0)))
        if worst > FAR:
            return f"{name}[{int(np.flatnonzero(finite)[off.argmax()])}] is off by {off.max():.3g}", worst
    return "", worst


async def label(row: dict[str, Any], run: Run, count: int) -> dict[str, Any]:
    """Run one mutant until it is seen to be wrong."""
    task = tasks.get(row["task"])
    found: dict[str, Any] = {"name": row["name"], "label": "wrong" if row["wrong"] else "right"}
    ran, worst = 0, 0.0
    for place, shape in enumerate(shapes_of(task, count)):
        names = synthesis.distributions(task)
        for name in ("normal", names[place % len(names)]):
            inputs = await asyncio.to_thread(synthesis.draw, task, shape, name, 1000 + place)
            try:
                got = await run(row["source"], task, shape, inputs)
            except Refusal:
                continue  # not meant for these sizes
            except WorkerFailure as failure:
                return found | {"differs": str(failure), "axes": shape.axes, "inputs": name}
            want = await asyncio.to_thread(reference.compute, task, shape, inputs)
            said, error = difference(got, dict(want))
            ran, worst = ran + 1, max(worst, error)
            if said:
                return found | {"differs": said, "axes": shape.axes, "inputs": name}
    return found | {"differs": "", "runs": ran, "largest_error": worst}


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", default="1/1", help="K/N: every N-th mutant, from the K-th")
    parser.add_argument("--shapes", type=int, default=12)
    options = parser.parse_args()
    first, _, step = options.part.partition("/")
    lines = (bugs.folder() / "mutants.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines][int(first) - 1 :: int(step)]
    cuda.RUN_LIMIT_S = 5.0
    gpu = CudaEvaluator(reference.compute)
    results = []
    for row in rows:
        results.append(await label(row, gpu.outputs, options.shapes))
        print(json.dumps(results[-1]), flush=True)
        record = {"device": gpu.facts, "measured_at": datetime.now(UTC).isoformat(timespec="seconds")}
        options.out.write_text(json.dumps(record | {"results": results}, indent=1) + "\n", encoding="utf-8")
    await gpu.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
