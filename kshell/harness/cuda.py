"""Device `cuda`: parsed candidates on a GPU, through a worker process that never sees expected outputs.

Validation and judging are those of device `cpu`; what differs is how a candidate runs. Timing follows
the rule of the worker: rotated inputs, an overwritten second-level cache, events, an idle device after
each sample, baselines interleaved in the same process run. A result above the measured roofline of the
device is refused as a fault of the measurement."""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from agents import synthesis
from insights_db.records import (
    Candidate,
    CaseResult,
    CompileResult,
    Counterexample,
    ProfileResult,
    ValidationResult,
)
from kshell.harness.cases import Case, CaseFailure, CaseMaker, Reference, side_shapes
from kshell.harness.cuda_link import WorkerFailure, WorkerLink
from kshell.harness.runs import RunResult, Timing
from kshell.harness.validate import HEAVY_WORK, adds_atomically, check_run
from scaffolds.cuda.device import DeviceText, device_text, plan_json
from semantics import core
from semantics.program import Program, load
from semantics.span import Refusal
from semantics.task import Task, Workload

DEVICE = "cuda"
RUN_LIMIT_S = 120.0
SLACK_OVER_CEILING = 1.05
"""Measured ceilings are medians too; beyond this factor a result is refused."""


@dataclass(frozen=True, slots=True)
class Timer:
    """How much is timed. `baselines` out of `eager` and `compile`; the first is what rewards divide by."""

    warmup: int = 5
    samples: int = 60
    baselines: tuple[str, ...] = ("eager",)
    compile_mode: str = "max-autotune-no-cudagraphs"


@dataclass(slots=True)
class CudaEvaluator:
    """Implements `kshell.protocols.Evaluator` on one GPU.

    `reference(task, workload, inputs)` gives expected outputs in float64 in this process. `secret` fixes
    the hidden seeds (tests only)."""

    reference: Reference
    gpu: int = 0
    timer: Timer = field(default_factory=Timer)
    secret: int | None = None
    device: str = DEVICE
    _link: WorkerLink = field(init=False)
    _maker: CaseMaker = field(init=False)
    _ceilings: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._link = WorkerLink(self.gpu)
        self._maker = CaseMaker(self.reference, self.secret)

    async def compile(self, candidate: Candidate, task: Task, workload: Workload) -> CompileResult:
        """Parse, bind, compile with NVRTC for the device. The report is of the first kernel, with the
        largest register and shared memory use of all."""
        started = time.perf_counter()
        try:
            bound = _bind(candidate.source, task, workload)
            answer = await self._load(bound, task)
        except Refusal as refusal:
            text = refusal.render(candidate.source, f"{candidate.id}.cu")
            return CompileResult(ok=False, diagnostics=text, seconds=time.perf_counter() - started)
        except WorkerFailure as failure:
            return CompileResult(ok=False, diagnostics=str(failure), seconds=time.perf_counter() - started)
        kernels = list(answer["report"].values())
        report = {key: float(max(k[key] for k in kernels)) for key in kernels[0]}
        return CompileResult(
            ok=True, command="nvrtc --std=c++17", seconds=time.perf_counter() - started, report=report
        )

    async def validate(
        self, candidate: Candidate, task: Task, workload: Workload, compiled: CompileResult
    ) -> ValidationResult:
        """The same cases as device `cpu`, each set run twice."""
        started = time.perf_counter()
        results: list[CaseResult] = []
        reason, example = "", None
        try:
            for shape, distributions, name in self._batches(task, workload):
                cases = await asyncio.to_thread(self._cases, task, shape, name, distributions)
                found, reason, example = await self._try(candidate.source, task, shape, cases)
                results.extend(found)
                if reason:
                    break
        except (Refusal, WorkerFailure, CaseFailure) as error:
            reason = str(error)
        return ValidationResult(
            ok=not reason,
            cases=tuple(results),
            reason=reason,
            counterexample=example,
            seconds=time.perf_counter() - started,
        )

    async def profile(
        self, candidate: Candidate, task: Task, workload: Workload, compiled: CompileResult
    ) -> ProfileResult:
        """Median of interleaved samples; the outputs of timed calls are judged again."""
        started = time.perf_counter()
        try:
            ceilings = await self.ceilings()
            bound = _bind(candidate.source, task, workload)
            cases = await asyncio.to_thread(self._cases, task, workload, "timed", ("normal", "uniform"))
            await self._load(bound, task)
            with tempfile.TemporaryDirectory(prefix="kshell-gpu-") as temporary:
                sets = await asyncio.to_thread(_files, Path(temporary), task, bound.plan, cases)
                await self._link.ask("run", RUN_LIMIT_S, sets=sets)
                answer = await self._link.ask(
                    "time",
                    10 * RUN_LIMIT_S,
                    sets=sets,
                    warmup=self.timer.warmup,
                    samples=self.timer.samples,
                    baselines=list(self.timer.baselines),
                    compile_mode=self.timer.compile_mode,
                    reference=task.reference,
                    axes=workload.axes,
                    shapes={t.name: list(task.shapes(workload)[t.name]) for t in task.inputs},
                )
                run = _as_run(task, sets, [answer["sets"]])
            outcome = check_run(task, bound.plan, cases, run)
        except (Refusal, WorkerFailure, CaseFailure) as error:
            return ProfileResult(
                ok=False, device=self._name(), reason=str(error), seconds=time.perf_counter() - started
            )
        if outcome.reason:
            return ProfileResult(
                ok=False,
                device=self._name(),
                reason=f"the timed outputs are wrong: {outcome.reason}",
                seconds=time.perf_counter() - started,
            )
        seconds = time.perf_counter() - started
        return self._result(task, workload, answer, ceilings, seconds)

    async def ceilings(self) -> dict[str, float]:
        """Copy bandwidth and fp32 rate of the device, measured once."""
        if not self._ceilings:
            answer = await self._link.ask("ceilings", RUN_LIMIT_S)
            self._ceilings = {k: float(v) for k, v in answer.items() if k.endswith("_per_s")}
        return self._ceilings

    async def close(self) -> None:
        """End the worker."""
        await self._link.close()

    # ------------------------------------------------------------ parts

    def _name(self) -> str:
        return str(self._link.device.get("name", DEVICE))

    async def _load(self, bound: "_Bound", task: Task) -> dict[str, Any]:
        return await self._link.ask(
            "load",
            RUN_LIMIT_S,
            text=bound.device.text,
            kernels=list(bound.device.kernels),
            plan=json.loads(plan_json(bound.plan, task, bound.device)),
        )

    def _batches(self, task: Task, workload: Workload) -> Sequence[tuple[Workload, tuple[str, ...], str]]:
        every = synthesis.distributions(task)
        heavy = task.work(workload)[0] > HEAVY_WORK
        sides = side_shapes(task, workload, self._maker.random("shapes", task.name))
        special = [d for d in every if d not in ("normal", "uniform")]
        found = [(workload, ("normal",) if heavy else every, "task shape")]
        for index, (name, shape) in enumerate(sides):
            found.append((shape, ("normal", special[index % len(special)]), name))
        return found

    def _cases(
        self, task: Task, shape: Workload, name: str, distributions: Sequence[str]
    ) -> tuple[Case, ...]:
        make, seed = self._maker.make, self._maker.fresh_seed
        return tuple(make(task, shape, f"{name}, {d}", d, seed(task, shape)) for d in distributions)

    async def _try(
        self, source: str, task: Task, shape: Workload, cases: tuple[Case, ...]
    ) -> tuple[tuple[CaseResult, ...], str, Counterexample | None]:
        bound = _bind(source, task, shape)
        await self._load(bound, task)
        with tempfile.TemporaryDirectory(prefix="kshell-gpu-") as temporary:
            sets = await asyncio.to_thread(_files, Path(temporary), task, bound.plan, cases)
            answers = []
            outputs = []
            for _ in range(1 if adds_atomically(bound.plan) else 2):
                answer = await self._link.ask("run", RUN_LIMIT_S, sets=sets)
                answers.append(answer["sets"])
                outputs.append(_read(sets))
            run = _as_run(task, sets, answers, outputs)
        outcome = check_run(task, bound.plan, cases, run)
        return outcome.results, outcome.reason, outcome.counterexample

    def _result(
        self,
        task: Task,
        workload: Workload,
        answer: dict[str, Any],
        ceilings: dict[str, float],
        seconds: float,
    ) -> ProfileResult:
        samples = answer["samples"]
        own = statistics.median(samples["candidate"])
        quarters = statistics.quantiles(samples["candidate"], n=4)
        flops, moved = task.work(workload)
        floor = 1e3 * max(moved / ceilings["copy_bytes_per_s"], flops / ceilings["fp32_flop_per_s"])
        cached = moved < float(self._link.device.get("l2_bytes", 0))
        share = floor / own
        reason = ""
        if share > SLACK_OVER_CEILING and not cached:
            reason = f"{own:.6f} ms is above the roofline of the device ({floor:.6f} ms): refused"
        first = self.timer.baselines[0] if self.timer.baselines else ""
        base = statistics.median(samples[first]) if first else 0.0
        if base and base < float(answer["launch_ms"]):
            reason = f"the baseline took {base:.6f} ms, less than an empty launch: the measurement is refused"
        counters = {
            "flops": float(flops),
            "bytes": float(moved),
            "gb_per_s": moved / own / 1e6,
            "gflop_per_s": flops / own / 1e6,
            "launch_ms": float(answer["launch_ms"]),
            **{f"{name}_ms": statistics.median(v) for name, v in samples.items() if name != "candidate"},
            **ceilings,
        }
        return ProfileResult(
            ok=not reason,
            device=self._name(),
            median_ms=own,
            iqr_ms=quarters[2] - quarters[0],
            samples=len(samples["candidate"]),
            baseline=f"torch {first}" if first else "",
            baseline_ms=base,
            speedup=base / own if not reason else 0.0,
            roofline=share,
            counters=counters,
            source_of_counters="counted from the task's sizes against ceilings measured on the device",
            reason=reason,
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True)
class _Bound:
    program: Program
    plan: core.Plan
    device: DeviceText


def _bind(source: str, task: Task, workload: Workload) -> _Bound:
    program = load(source)
    return _Bound(program, program.plan(task, workload), device_text(program.module))


def _files(folder: Path, task: Task, plan: core.Plan, cases: Sequence[Case]) -> list[dict[str, Any]]:
    sets = []
    for index, case in enumerate(cases):
        inputs = {}
        for tensor in task.inputs:
            if tensor.name in plan.buffers:
                path = folder / f"{index}-{tensor.name}.npy"
                np.save(path, case.inputs[tensor.name])
                inputs[tensor.name] = str(path)
        outputs = {t.name: str(folder / f"{index}-{t.name}.out.npy") for t in task.outputs}
        sets.append({"inputs": inputs, "outputs": outputs})
    return sets


def _read(sets: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    return tuple({name: np.load(path) for name, path in s["outputs"].items()} for s in sets)


def _as_run(
    task: Task,
    sets: Sequence[dict[str, Any]],
    answers: Sequence[Sequence[dict[str, Any]]],
    outputs: Sequence[tuple[dict[str, Any], ...]] = (),
) -> RunResult:
    """What the worker answered as a run of the harness: guards and inputs first, then outputs."""
    for answer in answers:
        for found in answer:
            broken = [name for name, intact in found["guards"].items() if not intact]
            if broken:
                return RunResult(f"OUT OF BOUNDS: a write outside {broken[0]} damaged its guard")
            if found.get("inputs_intact") is False:
                return RunResult("an input was changed")
    read = list(outputs) or [_read(sets)]
    bits = [tuple(_bits(o) for o in one) for one in read]
    timings = tuple(Timing(i, 0, b) for one in bits[1:] for i, b in enumerate(one))
    return RunResult(outputs=read[0], digests=bits[0], timings=timings)


def _bits(outputs: dict[str, Any]) -> str:
    import hashlib

    digest = hashlib.sha256()
    for name in sorted(outputs):
        digest.update(outputs[name].tobytes())
    return digest.hexdigest()
