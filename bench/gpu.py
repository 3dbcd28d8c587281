"""Everything kshell measures on a GPU host, in one call: checks, searches, times, writes JSON.

    python bench/gpu.py --out RESULTS [--tasks relu,softmax] [--rounds 2 --group 6] [--seconds 500]

Needs torch, cupy, numpy, lark and pydantic. Per task: a search on the device with the built-in generator at
the default sizes, then the best kernels timed against torch eager and torch.compile at the default and at
the large sizes. Every number says where it was measured and when."""

import argparse
import asyncio
import hashlib
import json
import sys
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agents.builtin import BuiltinGenerator
from agents.protocols import GenerationContext, Proposal, Scored
from insights_db.records import Candidate, Evaluation, Reward
from kshell import tasks
from kshell.harness.cuda import CudaEvaluator, Timer
from kshell.tasks import reference
from semantics.task import Task, Workload

LARGE: dict[str, dict[str, int]] = {
    "relu": {"n": 268435456},
    "silu": {"n": 268435456},
    "gelu": {"n": 268435456},
    "gelu_tanh": {"n": 268435456},
    "softmax": {"rows": 8192, "n": 16384},
    "layernorm": {"rows": 8192, "n": 16384},
    "rmsnorm": {"rows": 8192, "n": 16384},
    "gemv": {"M": 32768, "N": 16384},
    "gemm": {"M": 8192, "K": 8192, "N": 8192},
    "linear": {"batch": 8192, "hin": 4096, "hout": 4096},
    "batch_matmul": {"b": 64, "M": 1024, "K": 1024, "N": 1024},
    "conv2d": {"batch": 32, "cin": 64, "cout": 64, "H": 128},
    "depthwise_conv": {"batch": 32, "c": 256, "H": 128},
}


def candidate_of(proposal: Proposal, task: str, round_: int, index: int) -> Candidate:
    """The record of a proposal."""
    return Candidate(
        id=hashlib.sha256(proposal.source.encode()).hexdigest()[:12],
        source=proposal.source,
        task=task,
        round=round_,
        index=index,
        proposer=proposal.proposer,
        parent=proposal.parent,
        family=proposal.family,
        schedule=proposal.schedule,
        strategy=proposal.strategy,
    )


async def evaluate(gpu: CudaEvaluator, candidate: Candidate, task: Task, workload: Workload) -> Evaluation:
    """Compile, validate, profile, fail-fast."""
    compiled = await gpu.compile(candidate, task, workload)
    evaluation = Evaluation(candidate=candidate.id, device="cuda", compile=compiled)
    if not compiled.ok:
        return evaluation
    validation = await gpu.validate(candidate, task, workload, compiled)
    evaluation = evaluation.model_copy(update={"validation": validation})
    if not validation.ok:
        return evaluation
    profile = await gpu.profile(candidate, task, workload, compiled)
    return evaluation.model_copy(update={"profile": profile})


def reward_of(evaluation: Evaluation) -> Reward:
    """-1 not compiled, 0 wrong, otherwise the speed-up over torch eager."""
    if evaluation.compile is None or not evaluation.compile.ok:
        return Reward(candidate=evaluation.candidate, value=-1.0)
    profile = evaluation.profile
    if not evaluation.correct or profile is None or not profile.ok:
        return Reward(candidate=evaluation.candidate, value=0.0)
    return Reward(candidate=evaluation.candidate, value=profile.speedup, rscore=1 / profile.median_ms)


async def search(
    gpu: CudaEvaluator, task: Task, workload: Workload, rounds: int, group: int, until: float
) -> list[Scored]:
    """The built-in generator on the device; stops between candidates when the time is over."""
    generator = BuiltinGenerator(tasks.spec_of)
    history: list[Scored] = []
    for round_ in range(1, rounds + 1):
        context = GenerationContext(
            task=task,
            workload=workload,
            device="cuda",
            round=round_,
            group=group,
            seed=round_,
            history=tuple(history),
        )
        for index, proposal in enumerate(await generator.propose(context)):
            if time.monotonic() > until:
                return history
            candidate = candidate_of(proposal, task.name, round_, index)
            evaluation = await evaluate(gpu, candidate, task, workload)
            history.append(Scored(candidate, evaluation, reward_of(evaluation)))
    return history


def brief(evaluation: Evaluation) -> dict[str, Any]:
    """The numbers of an evaluation, without sources."""
    compiled, validation, profile = evaluation.compile, evaluation.validation, evaluation.profile
    return {
        "compiled": bool(compiled and compiled.ok),
        "diagnostics": compiled.diagnostics[:400] if compiled and not compiled.ok else "",
        "report": compiled.report if compiled else {},
        "valid": evaluation.correct,
        "reason": (validation.reason if validation else "") or (profile.reason if profile else ""),
        "cases": len(validation.cases) if validation else 0,
        "profile": profile.model_dump() if profile else None,
    }


async def measure(name: str, options: argparse.Namespace, until: float) -> dict[str, Any]:
    """One task: search at the default sizes, then the best at the default and the large sizes."""
    task = tasks.get(name)
    gpu = CudaEvaluator(partial(reference.compute, device="cuda"), timer=Timer(samples=options.samples))
    started = time.monotonic()
    history = await search(gpu, task, task.workload(), options.rounds, options.group, until)
    ranked = sorted(history, key=lambda s: s.reward.value, reverse=True)
    best = [s for s in ranked if s.reward.value > 0][: options.keep]
    result: dict[str, Any] = {
        "task": name,
        "evaluations": len(history),
        "failed": sum(s.reward.value <= 0 for s in history),
        "search_seconds": time.monotonic() - started,
        "all": [
            {"family": s.candidate.family, "schedule": s.candidate.schedule, "reward": s.reward.value}
            | brief(s.evaluation)
            for s in history
        ],
        "timed": [],
    }
    forms = ("eager", "compile") if options.compile else ("eager",)
    gpu.timer = Timer(samples=options.samples, baselines=forms, compile_mode=options.compile_mode)
    sizes = [("default", task.workload())]
    if options.large and name in LARGE:
        sizes.append(("large", task.workload(**LARGE[name])))
    for label, workload in sizes:
        for scored in best[: 1 if label == "large" else options.keep]:
            if time.monotonic() > until:
                break
            evaluation = await evaluate(gpu, scored.candidate, task, workload)
            result["timed"].append(
                {
                    "sizes": label,
                    "axes": workload.axes,
                    "candidate": scored.candidate.id,
                    "family": scored.candidate.family,
                    "schedule": scored.candidate.schedule,
                    "source": scored.candidate.source,
                }
                | brief(evaluation)
            )
    result["device"] = gpu.facts
    await gpu.close()
    return result


def line(result: dict[str, Any]) -> str:
    """A short row a person can read."""
    cells = [f"{result['task']:15} {result['evaluations']:3} evaluated, {result['failed']:2} failed"]
    for timed in result["timed"]:
        profile = timed["profile"]
        if not profile or not profile["ok"]:
            cells.append(f"{timed['sizes']}: {timed['reason'] or timed['diagnostics']}"[:160])
            continue
        compiled = profile["counters"].get("compile_ms")
        ratio = f", compile {compiled / profile['median_ms']:.2f}x" if compiled else ""
        cells.append(
            f"{timed['sizes']} {timed['family']} {profile['median_ms']:.4f} ms, eager "
            f"{profile['speedup']:.2f}x{ratio}, roofline {100 * profile['roofline']:.0f} %"
        )
    return " | ".join(cells)


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON files")
    parser.add_argument("--tasks", default=",".join(LARGE))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--group", type=int, default=6)
    parser.add_argument("--keep", type=int, default=1, help="how many of the best are timed again")
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=500.0, help="time for everything")
    parser.add_argument("--large", action="store_true", help="time the best at the large sizes too")
    parser.add_argument("--compile", action="store_true", help="torch.compile as a baseline")
    parser.add_argument("--compile-mode", default="max-autotune-no-cudagraphs")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    names = options.tasks.split(",")
    end = time.monotonic() + options.seconds
    failures = 0
    results = []
    for place, name in enumerate(names):
        share = (end - time.monotonic()) / (len(names) - place)
        try:
            results.append(await measure(name, options, time.monotonic() + share))
            print(line(results[-1]), flush=True)
        except Exception as error:
            failures += 1
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
        stamp = datetime.now(UTC).isoformat(timespec="seconds")
        text = json.dumps(
            {"measured_at": stamp, "options": vars(options), "results": results}, default=str, indent=1
        )
        (options.out / "gpu.json").write_text(text + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
