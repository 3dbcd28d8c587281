"""Compares the results of several interleavings of one launch."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from semantics import core
from semantics.interp.run import Run, run
from semantics.interp.schedule import Schedule
from semantics.interp.values import Array


@dataclass(frozen=True, slots=True)
class Exploration:
    """The lockstep run, and the first schedule whose outputs differ from it (None: all agree), with
    the output, the element and both values."""

    base: Run
    differs: Schedule | None = None
    output: str = ""
    index: int = 0
    values: tuple[float, float] = (0.0, 0.0)


def explore(plan: core.Plan, arrays: dict[str, Array], seeds: int = 4, **options: Any) -> Exploration:
    """Run in lockstep, then with `seeds` random orders of warps and as many of threads. Outputs of
    launches with atomic additions may differ by rounding and are compared to a relative 1e-9."""
    base = run(plan, arrays, **options)
    atomics = any("AtomicAdd" in repr(call.kernel.body) for call in plan.calls)
    for seed in range(seeds):
        for grain in ("warp", "thread"):
            schedule = Schedule(seed, grain)
            other = run(plan, arrays, schedule=schedule, **options)
            for name, values in base.outputs.items():
                difference = _first_difference(values, other.outputs[name], 1e-9 if atomics else 0.0)
                if difference is not None:
                    pair = float(values[difference]), float(other.outputs[name][difference])
                    return Exploration(base, schedule, name, difference, pair)
    return Exploration(base)


def _first_difference(a: Array, b: Array, tolerance: float) -> int | None:
    if a.dtype == object:
        same = np.array([x == y for x, y in zip(a, b, strict=True)])
    else:
        same = np.isclose(a, b, rtol=tolerance, atol=0.0, equal_nan=True)
    return None if same.all() else int(np.argmin(same))
