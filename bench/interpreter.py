"""How fast the interpreter is: a block reduction of 256 threads over 16,384 elements.

    python bench/interpreter.py [--json]

The kernel is checked for every fault while it runs; the time is the best of three runs, compilation of the
core program included."""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

ELEMENTS, THREADS, LIMIT = 16_384, 256, 1.0
SOURCE = f"""
__global__ void block_sum(const float* x, float* y, int n) {{
    __shared__ float s[{THREADS}];
    int t = threadIdx.x;
    float v = 0.0f;
    for (int i = t; i < n; i += {THREADS}) v += x[i];
    s[t] = v;
    __syncthreads();
    for (int half = {THREADS} / 2; half > 0; half >>= 1) {{
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }}
    if (t == 0) y[0] = s[0];
}}
void launch(const float* x, float* y, int n) {{ block_sum<<<1, {THREADS}>>>(x, y, n); }}
"""


def main() -> int:
    """Print the time; exit code 1 when it is a second or more, or the sum is wrong."""
    from semantics import interp
    from semantics.program import load
    from semantics.task import Roofline, Task, Tensor

    parser = argparse.ArgumentParser(description="Time of the interpreter on a block reduction.")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    task = Task(
        name="sum",
        title="sum",
        family="reduction",
        axes={"n": ELEMENTS},
        inputs=(Tensor(name="x", shape=("n",)),),
        outputs=(Tensor(name="y", shape=(1,)),),
        reference="",
        roofline=Roofline(flops="n", bytes="4 * n"),
    )
    plan = load(SOURCE).plan(task, task.workload())
    x = np.random.default_rng(0).integers(-9, 9, ELEMENTS).astype(np.float32)
    best, right = float("inf"), True
    for _ in range(3):
        started = time.perf_counter()
        result = interp.run(plan, {"x": x})
        best = min(best, time.perf_counter() - started)
        right = right and not result.faults and result.outputs["y"][0] == x.sum()
    if options.json:
        print(json.dumps({"elements": ELEMENTS, "threads": THREADS, "seconds": best, "right": bool(right)}))
    else:
        print(f"{THREADS} threads sum {ELEMENTS} elements in {best:.3f} s; the limit is {LIMIT:.0f} s")
    return 0 if right and best < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
