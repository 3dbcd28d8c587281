"""The Level-1 campaign on a GPU host: search at both sizes, the fastest beside torch and the vendor library.

    python bench/campaign_gpu.py --out FOLDER [--tasks relu,softmax] [--rounds 5 --group 12] [--seconds 400]
                                 [--record gemv,rmsnorm,conv2d]

Needs torch, cupy, numpy, lark and pydantic. Proposals are parsed and compiled in parallel and timed one
after the other by the rule of the device's worker (cold second-level cache, events, an idle device between
samples). The fastest of a search are checked against the reference in float64 on the device, then the
first that agrees is timed again, interleaved with torch eager, torch.compile and the vendor library.
`--record` times every schedule of a task's families at the published size, for `bench/searchers.py`."""

import argparse
import asyncio
import hashlib
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agents.builtin import BuiltinGenerator
from agents.protocols import GenerationContext, Scored
from insights_db.records import Candidate, CompileResult, Evaluation, ProfileResult, Reward, ValidationResult
from kshell import tasks
from kshell.harness import nvrtc
from kshell.harness.cuda import measured
from kshell.harness.cuda_worker import Buffer, Worker
from kshell.harness.vendor import vendor_call
from scaffolds.cuda.device import device_text, plan_json
from scaffolds.families import families_of
from scaffolds.families.space import enumerate_schedules
from semantics.program import load
from semantics.span import Refusal
from semantics.task import Task, Workload

from gpu import LARGE  # isort: skip

SLOW = 4.0
"""A candidate whose first sample takes this many times the best so far is not sampled again."""
WRONG = 1e-3
"""Largest difference to the float64 reference, in units of the mean magnitude of the output."""
KEPT = 6

Built = tuple[bytes, list[str], dict[str, Any]] | str


def build(name: str, axes: dict[str, int], source: str, arch: str) -> Built:
    """Cubin, kernel names and plan of a candidate, or why there is none. Runs in a process of its own."""
    task = tasks.get(name)
    try:
        program = load(source)
        plan = program.plan(task, task.workload(**axes))
        device = device_text(program.module)
        compiled = nvrtc.find().compile(device.text, list(device.kernels), arch)
    except (Refusal, nvrtc.CompileFailure) as error:
        return str(error)
    described = json.loads(plan_json(plan, task, device))
    return compiled.cubin, [compiled.lowered[k] for k in device.kernels], described


class Bed(Worker):
    """The worker's timing in this process, over inputs that stay on the device."""

    def __init__(self) -> None:
        super().__init__()
        self.tensors: dict[str, Any] = {}
        self.ceiling: dict[str, float] = {}

    def inputs(self, task: Task, workload: Workload) -> None:
        """Fresh normal inputs for a workload; drops the old ones."""
        self.tensors, self.sets = {}, []
        self.cupy.get_default_memory_pool().free_all_blocks()
        shapes = task.shapes(workload)
        for tensor in (*task.inputs, *task.outputs):
            size = 1
            for extent in shapes[tensor.name]:
                size *= extent
            self.tensors[tensor.name] = Buffer(self.cupy, 4 * size)
        generator = self.cupy.random.default_rng(workload.seed + 1)
        for tensor in task.inputs:
            body = self.tensors[tensor.name].body.view(self.cupy.float32)
            generator.standard_normal(dtype=self.cupy.float32, out=body)

    def take(self, built: Built) -> None:
        """Load a built candidate. Raises ValueError with the reason where there is none."""
        if isinstance(built, str):
            raise ValueError(built)
        cubin, kernels, self.plan = built
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(cubin)
            file.flush()
            module = self.cupy.RawModule(path=file.name)
            self.functions = [module.get_function(k) for k in kernels]
        for call, function in zip(self.plan["calls"], self.functions, strict=True):
            self._allow_shared(call, function)
        self.sets = [
            {
                name: self.tensors.get(name) or Buffer(self.cupy, facts["bytes"])
                for name, facts in self.plan["buffers"].items()
            }
        ]

    def quick(self, best: float, samples: int = 7) -> float:
        """Median milliseconds of the loaded candidate."""
        first = self._span(lambda: self._call(self.sets[0]))
        second = self._span(lambda: self._call(self.sets[0]))
        if min(first, second) > SLOW * best:
            return min(first, second)
        return statistics.median(self._span(lambda: self._call(self.sets[0])) for _ in range(samples))

    def _collect(self, buffers: dict[str, Buffer], wanted: dict[str, str]) -> dict[str, Any]:
        return {}

    def off(self, task: Task, workload: Workload) -> float:
        """The largest difference of the output to the reference in float64, over its mean magnitude."""
        import torch

        shapes = task.shapes(workload)
        out = task.outputs[0].name
        self.sets[0][out].poison()
        self._call(self.sets[0])
        self.cupy.cuda.Device().synchronize()

        def view(name: str) -> Any:
            flat = torch.as_tensor(self.tensors[name].body, device="cuda").view(torch.float32)
            return flat.view(shapes[name])

        request = {"reference": task.reference, "axes": workload.axes}
        model = self._model("eager", request, torch)
        with torch.no_grad():
            exact = model(*(view(t.name).double() for t in task.inputs))
            scale = float(exact.abs().mean())
            worst = float((exact - view(out)).abs().max())
        del exact
        torch.cuda.empty_cache()
        return worst / scale if worst == worst else float("inf")


class Campaign:
    """Builders, the bed and the clock of a run."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.pool = ProcessPoolExecutor(options.builders, mp_context=multiprocessing.get_context("spawn"))
        self.bed = Bed()
        self.facts = self.bed.hello({})
        answer = self.bed.ceilings({})
        self.ceilings = {k: float(v) for k, v in answer.items() if k.endswith("_per_s")}

    def builds(self, task: Task, workload: Workload, sources: Sequence[str]) -> Iterator[Built]:
        """Built in parallel, in order."""
        wanted = [
            self.pool.submit(build, task.name, workload.axes, source, self.bed.arch) for source in sources
        ]
        for future in wanted:
            yield future.result()

    async def search(self, task: Task, workload: Workload, until: float) -> list[Scored]:
        """The built-in generator; the reward is the inverse of the time."""
        generator, history = BuiltinGenerator(tasks.spec_of), list[Scored]()
        best = float("inf")
        for round_ in range(1, self.options.rounds + 1):
            if time.monotonic() > until:
                break
            context = GenerationContext(
                task=task,
                workload=workload,
                device="cuda",
                round=round_,
                group=self.options.group,
                seed=self.options.seed,
                history=tuple(history),
            )
            proposals = await generator.propose(context)
            builds = self.builds(task, workload, [p.source for p in proposals])
            for index, (proposal, built) in enumerate(zip(proposals, builds, strict=True)):
                candidate = Candidate(
                    id=hashlib.sha256(proposal.source.encode()).hexdigest()[:12],
                    source=proposal.source,
                    task=task.name,
                    round=round_,
                    index=index,
                    proposer=proposal.proposer,
                    parent=proposal.parent,
                    family=proposal.family,
                    schedule=proposal.schedule,
                    strategy=proposal.strategy,
                )
                try:
                    self.bed.take(built)
                    ms = self.bed.quick(best)
                except (ValueError, Exception) as error:
                    if "IllegalAddress" in str(error) or "launch failed" in str(error):
                        raise
                    history.append(_scored(candidate, str(error), 0.0))
                    continue
                best = min(best, ms)
                history.append(_scored(candidate, "", ms))
        return history

    def compare(self, task: Task, workload: Workload, best: Scored) -> dict[str, Any]:
        """The loaded candidate interleaved with the baselines."""
        vendor = vendor_call(task)
        wanted = [b for b in ("eager", "compile", "vendor") if b != "vendor" or vendor is not None]
        answer = self.bed.time(
            {
                "sets": [{"outputs": {}}],
                "warmup": 4,
                "samples": self.options.samples,
                "baselines": wanted,
                "compile_mode": self.options.compile_mode,
                "reference": task.reference,
                "vendor": vendor
                and {"library": vendor.library, "call": vendor.call, "operands": vendor.operands},
                "axes": workload.axes,
                "shapes": {t.name: list(task.shapes(workload)[t.name]) for t in task.inputs},
            }
        )
        profile = measured(task, workload, answer, self.ceilings, self.facts).model_dump()
        spread = {}
        for name, samples in answer["samples"].items():
            low, _, high = statistics.quantiles(samples, n=4)
            spread[name] = {"median_ms": statistics.median(samples), "iqr_ms": high - low}
        return {"candidate": best.candidate.id, "profile": profile, "contenders": spread}

    async def size(self, task: Task, label: str, workload: Workload, until: float) -> dict[str, Any]:
        """Search and comparison at one size."""
        started = time.monotonic()
        self.bed.inputs(task, workload)
        history = await self.search(task, workload, until)
        seconds = time.monotonic() - started
        good = [s for s in history if s.reward.value > 0]
        good.sort(key=lambda s: -s.reward.value)
        kept: list[dict[str, Any]] = []
        compared: dict[str, Any] = {}
        for scored in good:
            if len(kept) == KEPT:
                break
            (built,) = self.builds(task, workload, [scored.candidate.source])
            self.bed.take(built)
            off = self.bed.off(task, workload)
            ms = self.bed.quick(float("inf"), self.options.samples)
            kept.append(
                {
                    "id": scored.candidate.id,
                    "family": scored.candidate.family,
                    "schedule": scored.candidate.schedule,
                    "source": scored.candidate.source,
                    "ms": ms,
                    "off": off,
                    "agrees": off < WRONG,
                }
            )
            if off < WRONG and not compared:
                compared = self.compare(task, workload, scored)
        return {
            "sizes": label,
            "axes": workload.axes,
            "evaluations": len(history),
            "failed": len(history) - len(good),
            "search_seconds": seconds,
            "seconds": time.monotonic() - started,
            "kept": kept,
            "compared": compared,
            "history": [
                {
                    "family": s.candidate.family,
                    "schedule": s.candidate.schedule,
                    "ms": 1 / s.reward.value if s.reward.value > 0 else None,
                    "reason": s.reward.reason[:200],
                }
                for s in history
            ],
        }

    def record(self, task: Task, until: float) -> dict[str, Any]:
        """Every schedule of every family at the published size."""
        workload = task.workload()
        self.bed.inputs(task, workload)
        points = [(f, s) for f in families_of(task) for s in enumerate_schedules(f, task, workload)]
        found, best = [], float("inf")
        builds = self.builds(task, workload, [f.source(task, workload, s) for f, s in points])
        for (family, schedule), built in zip(points, builds, strict=True):
            if time.monotonic() > until:
                break
            try:
                self.bed.take(built)
                ms: float | None = self.bed.quick(best)
            except Exception as error:
                if "IllegalAddress" in str(error):
                    raise
                ms = None
            best = min(best, ms or best)
            found.append({"family": family.name, "schedule": schedule, "ms": ms})
        return {"task": task.name, "axes": workload.axes, "whole": len(points), "points": found}


def _scored(candidate: Candidate, reason: str, ms: float) -> Scored:
    """The record of one evaluation; `ms` 0 where it failed."""
    good = ms > 0
    evaluation = Evaluation(
        candidate=candidate.id,
        device="cuda",
        compile=CompileResult(ok=good, diagnostics=reason),
        validation=ValidationResult(ok=True) if good else None,
        profile=ProfileResult(ok=True, device="cuda", median_ms=ms, speedup=1 / ms) if good else None,
    )
    reward = Reward(candidate=candidate.id, value=1 / ms if good else -1.0, reason=reason)
    return Scored(candidate, evaluation, reward)


def line(task: str, size: dict[str, Any]) -> str:
    """A row for a person who watches."""
    text = f"{task:15} {size['sizes']:8} {size['evaluations']:3} ({size['failed']} failed) "
    text += f"{size['search_seconds']:.0f}+{size['seconds'] - size['search_seconds']:.0f} s "
    if not size["compared"]:
        return text + f"nothing agrees: {[(k['family'], k['off']) for k in size['kept']]}"
    best = next(k for k in size["kept"] if k["id"] == size["compared"]["candidate"])
    contenders = size["compared"]["contenders"]
    own = contenders["candidate"]["median_ms"]
    ratios = " ".join(f"{n} {c['median_ms'] / own:.2f}x" for n, c in contenders.items() if n != "candidate")
    roofline = 100 * size["compared"]["profile"]["roofline"]
    return text + f"{best['family']} {best['schedule']} {own:.4f} ms, {roofline:.0f} %, {ratios}"


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON file")
    parser.add_argument("--tasks", default=",".join(LARGE))
    parser.add_argument("--record", default="", help="tasks whose whole space is timed")
    parser.add_argument("--record-seconds", type=float, default=40.0, help="time for each of those")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--group", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--builders", type=int, default=15, help="processes that parse and compile")
    parser.add_argument("--seconds", type=float, default=400.0, help="time for everything")
    parser.add_argument("--compile-mode", default="max-autotune-no-cudagraphs")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.seconds
    campaign = Campaign(options)
    result: dict[str, Any] = {
        "options": {k: str(v) for k, v in vars(options).items() if k != "out"},
        "device": campaign.facts,
        "ceilings": campaign.ceilings,
        "results": [],
        "spaces": [],
    }
    for name in options.record.split(",") if options.record else ():
        space = campaign.record(tasks.get(name), time.monotonic() + options.record_seconds)
        result["spaces"].append(space)
        print(f"recorded {len(space['points'])} of {space['whole']} points of {name}", flush=True)
        _save(options.out, result)
    jobs = [(name, label) for name in options.tasks.split(",") if name for label in ("default", "large")]
    for place, (name, label) in enumerate(jobs):
        task = tasks.get(name)
        workload = task.workload(**(LARGE[name] if label == "large" else {}))
        left = (end - time.monotonic()) / (len(jobs) - place + 1)
        try:
            found = await campaign.size(task, label, workload, time.monotonic() + left / 2)
            result["results"].append({"task": name} | found)
            print(line(name, found), flush=True)
        except Exception as error:
            print(f"{name} {label}: {type(error).__name__}: {error}", flush=True)
        _save(options.out, result)
        if time.monotonic() > end:
            break
    campaign.pool.shutdown(cancel_futures=True)
    return 0


def _save(folder: Path, result: dict[str, Any]) -> None:
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    (folder / "campaign.json").write_text(json.dumps({"measured_at": stamp} | result, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
