"""The built-in search beside random sampling and kernel_tuner's strategies, replayed over recorded spaces.

    python bench/searchers.py SPACES.json --out FILE.json [--seeds 10 --budget 100]

SPACES.json is a file of `bench/campaign_gpu.py --record`. No GPU is used: every search sees the recorded
times. What is counted is the number of distinct evaluations until a schedule within 5 % of the best of the
whole space is found. A rewrite of the built-in search has no recorded time of its own and counts as an
evaluation that gives its parent's. kernel_tuner is used where it can be imported and left out otherwise."""

import argparse
import asyncio
import hashlib
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agents.builtin import BuiltinGenerator
from agents.protocols import GenerationContext, Scored
from insights_db.records import Candidate, CompileResult, Evaluation, ProfileResult, Reward, ValidationResult
from kshell import tasks

WITHIN = 1.05
STRATEGIES = ("genetic_algorithm", "simulated_annealing", "greedy_ils", "diff_evo", "firefly_algorithm")
GROUP = 8

Point = tuple[str, frozenset[tuple[str, Any]]]


def point(family: str, schedule: dict[str, Any]) -> Point:
    """A place in the space; rewrites do not move it."""
    return family, frozenset((k, v) for k, v in schedule.items() if k != "rewrite")


class Space:
    """A recorded space: the task, and the time of every schedule that ran."""

    def __init__(self, recorded: dict[str, Any]) -> None:
        self.task = tasks.get(recorded["task"])
        self.workload = self.task.workload(**recorded["axes"])
        self.times = {point(p["family"], p["schedule"]): p["ms"] for p in recorded["points"] if p["ms"]}
        self.schedules = [(p["family"], p["schedule"]) for p in recorded["points"] if p["ms"]]
        self.best = min(self.times.values())

    def reached(self, times: Iterator[float] | list[float]) -> int | None:
        """Evaluations until one is within 5 % of the best."""
        return next((i for i, ms in enumerate(times, 1) if ms <= WITHIN * self.best), None)


def at_random(space: Space, seed: int, budget: int) -> list[float]:
    """Times of a random sample without replacement."""
    return random.Random(seed).sample([space.times[point(*s)] for s in space.schedules], budget)


async def builtin(space: Space, seed: int, budget: int) -> list[float]:
    """Times in the order in which the built-in search asks for them; it stops at the first near the best."""
    generator, history, seen = BuiltinGenerator(), list[Scored](), list[float]()
    round_ = 0
    while len(seen) < budget and space.reached(seen) is None:
        round_ += 1
        context = GenerationContext(
            task=space.task,
            workload=space.workload,
            device="cuda",
            round=round_,
            group=GROUP,
            seed=seed,
            history=tuple(history),
        )
        proposals = await generator.propose(context)
        if not proposals:
            break
        for index, p in enumerate(proposals):
            ms = space.times.get(point(p.family, p.schedule))
            candidate = Candidate(
                id=hashlib.sha256(p.source.encode()).hexdigest()[:12],
                source=p.source,
                task=space.task.name,
                round=round_,
                index=index,
                proposer=p.proposer,
                parent=p.parent,
                family=p.family,
                schedule=p.schedule,
                strategy=p.strategy,
            )
            good = ms is not None
            evaluation = Evaluation(
                candidate=candidate.id,
                device="cuda",
                compile=CompileResult(ok=good),
                validation=ValidationResult(ok=True) if good else None,
                profile=ProfileResult(ok=True, device="cuda", median_ms=ms, speedup=1 / ms) if ms else None,
            )
            reward = Reward(candidate=candidate.id, value=1 / ms if ms else -1.0)
            history.append(Scored(candidate, evaluation, reward))
            seen.append(ms if ms is not None else float("inf"))
    return seen


def tuned(space: Space, strategy: str, seed: int, budget: int) -> list[float]:
    """Times in the order in which a strategy of kernel_tuner asks for them, in its simulation mode."""
    import kernel_tuner
    import numpy as np

    names = sorted({name for _, schedule in space.schedules for name in schedule})
    pinned = {n: next(s[n] for _, s in space.schedules if n in s) for n in names}
    rows = [{"family": f, **{n: s.get(n, pinned[n]) for n in names}} for f, s in space.schedules]
    values = {n: list(dict.fromkeys(row[n] for row in rows)) for n in ("family", *names)}
    known = {tuple(str(row[n]) for n in values) for row in rows}
    entries = {}
    for row, (family, schedule) in zip(rows, space.schedules, strict=True):
        ms = space.times[point(family, schedule)]
        zero = dict.fromkeys(
            ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"), 0
        )
        entries[",".join(str(row[n]) for n in values)] = {**row, **zero, "time": ms, "times": [ms]} | {
            "timestamp": "2026-01-01 00:00:00+00:00"
        }
    cache = {
        "device_name": "recorded",
        "kernel_name": space.task.name,
        "problem_size": 1,
        "tune_params_keys": list(values),
        "tune_params": values,
        "objective": "time",
        "cache": entries,
    }

    def recorded(row: dict[str, Any]) -> bool:
        return tuple(str(row[n]) for n in values) in known

    random.seed(seed)
    np.random.seed(seed)
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        file = Path(folder) / "cache.json"
        file.write_text(json.dumps(cache))
        results, _ = kernel_tuner.tune_kernel(
            space.task.name,
            "__global__ void kernel() {}",
            1,
            [],
            values,
            lang="CUDA",
            restrictions=recorded,
            strategy=strategy,
            strategy_options={"max_fevals": budget},
            cache=str(file),
            simulation_mode=True,
        )
    distinct = {tuple(str(r[n]) for n in values): float(r["time"]) for r in reversed(results)}
    order = dict.fromkeys(tuple(str(r[n]) for n in values) for r in results)
    return [distinct[key] for key in order]


def compared(space: Space, seeds: int, budget: int) -> dict[str, list[int | None]]:
    """Searcher to the evaluations it needed, one a seed; None where the budget did not do."""
    budget = min(budget, len(space.schedules))
    found: dict[str, list[int | None]] = {
        "built-in": [space.reached(asyncio.run(builtin(space, s, budget))[:budget]) for s in range(seeds)],
        "random": [space.reached(at_random(space, s, budget)) for s in range(20 * seeds)],
    }
    for strategy in STRATEGIES if find_spec("kernel_tuner") else ():
        try:
            found[strategy] = [space.reached(tuned(space, strategy, s, budget)) for s in range(seeds)]
        except Exception as error:
            print(f"{space.task.name}: {strategy}: {type(error).__name__}: {error}", file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("spaces", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=100)
    options = parser.parse_args()
    results = []
    for recorded in json.loads(options.spaces.read_text())["spaces"]:
        space = Space(recorded)
        found = compared(space, options.seeds, options.budget)
        results.append(
            {
                "task": space.task.name,
                "axes": space.workload.axes,
                "points": len(space.schedules),
                "near": sum(ms <= WITHIN * space.best for ms in space.times.values()),
                "best_ms": space.best,
                "budget": options.budget,
                "evaluations": found,
            }
        )
        for name, counts in found.items():
            missed = sum(c is None for c in counts)
            middle = statistics.median(c if c is not None else options.budget for c in counts)
            print(f"{space.task.name:15} {name:20} median {middle:g}, missed {missed} of {len(counts)}")
        options.out.write_text(json.dumps({"within": WITHIN, "results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
