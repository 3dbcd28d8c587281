"""Device `cuda`: parsed candidates on a GPU, through a worker process that never sees expected outputs.

Validation and judging are those of device `cpu`; what differs is how a candidate runs. Timing follows
the rule of the worker: rotated inputs, an overwritten second-level cache, events, an idle device after
each sample, baselines interleaved in the same process run. A result above the measured roofline of the
device is refused as a fault of the measurement, and so is one of a workload that is no work. Several GPUs
are used at once, one worker process each."""

import asyncio
import hashlib
import json
import math
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    SourcePoint,
    ValidationResult,
)
from kshell.harness.cases import Case, CaseFailure, CaseMaker, Reference, side_shapes
from kshell.harness.cuda_link import WorkerFailure, WorkerLink
from kshell.harness.cuda_pool import Pool
from kshell.harness.exported import ProgramFailure, ToolsMissing, build_program, counters
from kshell.harness.occupancy import Multiprocessor, occupancy
from kshell.harness.runs import ProgramFault, RunResult, Timing
from kshell.harness.sandbox import disk_reason
from kshell.harness.validate import HEAVY_WORK, adds_atomically, check_run
from kshell.harness.vendor import vendor_call
from scaffolds.cuda.device import DeviceText, device_text, plan_json
from semantics import core
from semantics.program import Program, load
from semantics.span import Refusal
from semantics.task import Task, Workload

DEVICE = "cuda"
RUN_LIMIT_S = 20.0
"""Seconds one request may take beside what its data and its work need."""
COMPILE_LIMIT_S = 120.0
"""Seconds for what compiles: a candidate, the ceilings' kernels, the baselines of torch."""
SLACK_OVER_CEILING = 1.15
"""Measured ceilings are medians too, and reading alone is up to a tenth faster than the copy that they are
measured with; beyond this factor a result is refused."""
NO_WORK = 1e-3
"""A workload the device could do in this share of an empty launch is no work: a time of it means nothing."""
SIGNIFICANT = 2.58
"""Standard deviations of the sign test (99 %) beyond which a difference to the baseline counts."""


@dataclass(frozen=True, slots=True)
class Timer:
    """How much is timed. `baselines` out of `eager`, `compile` and `vendor` (left out where the vendor
    library has no function for the task); the first is what rewards divide by. `counters`: read the
    hardware's counters with ncu for a candidate that is the fastest so far."""

    warmup: int = 5
    samples: int = 60
    baselines: tuple[str, ...] = ("eager",)
    compile_mode: str = "max-autotune-no-cudagraphs"
    counters: bool = False


class CudaEvaluator:
    """Implements `kshell.protocols.Evaluator` on the GPUs of this host.

    `reference(task, workload, inputs)` gives expected outputs in float64 in this process. `gpus` are names
    for CUDA_VISIBLE_DEVICES; `links` puts other workers there (tests). `secret` fixes the hidden seeds
    (tests only)."""

    device = DEVICE

    def __init__(
        self,
        reference: Reference,
        *,
        gpus: Sequence[str] = ("0",),
        timer: Timer | None = None,
        secret: int | None = None,
        links: Sequence[WorkerLink] = (),
    ) -> None:
        self.timer = timer or Timer()
        self._maker = CaseMaker(reference, secret)
        self._pool = Pool(links or [WorkerLink(gpu) for gpu in gpus])
        self._ceilings: dict[int | str, dict[str, float]] = {}
        self._fastest: dict[str, float] = {}
        self._no_counters = ""

    @property
    def lanes(self) -> int:
        """How many candidates can be evaluated at once."""
        return self._pool.lanes

    @property
    def facts(self) -> dict[str, Any]:
        """What the worker used last said about its GPU; empty before the first start."""
        return dict(self._pool.device)

    async def compile(self, candidate: Candidate, task: Task, workload: Workload) -> CompileResult:
        """Parse, bind, compile with NVRTC for the device. The report has the largest register, shared and
        local memory (spills) of all kernels and the least occupancy of all launches."""
        started = time.perf_counter()
        try:
            bound = _bind(candidate.source, task, workload)
            report = await self._pool.run(lambda link: _report(link, bound, task))
        except Refusal as refusal:
            text = refusal.render(candidate.source, f"{candidate.id}.cu")
            return CompileResult(ok=False, diagnostics=text, seconds=time.perf_counter() - started)
        except WorkerFailure as failure:
            return CompileResult(ok=False, diagnostics=str(failure), seconds=time.perf_counter() - started)
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
        except OSError as error:
            reason = disk_reason(error)
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
            cases = await asyncio.to_thread(self._cases, task, workload, "timed", ("normal", "uniform"))
            result = await self._pool.run(
                lambda link: self._timed(link, candidate.source, task, workload, cases)
            )
        except (Refusal, WorkerFailure, CaseFailure) as error:
            result = ProfileResult(ok=False, device=self._name(), reason=str(error))
        except OSError as error:
            result = ProfileResult(ok=False, device=self._name(), reason=disk_reason(error))
        return result.model_copy(update={"seconds": time.perf_counter() - started})

    async def ceilings(self) -> dict[str, float]:
        """Copy bandwidth, fp32 and tensor rate of the device, measured once a device."""
        return await self._pool.run(self._ceilings_of)

    async def outputs(
        self, source: str, task: Task, workload: Workload, inputs: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The outputs of one run, as flat arrays. Raises Refusal, WorkerFailure."""
        bound = _bind(source, task, workload)
        case = Case("given", workload, "given", 0, dict(inputs), {})

        async def stage(link: WorkerLink) -> dict[str, Any]:
            await _load(link, bound, task)
            with tempfile.TemporaryDirectory(prefix="kshell-gpu-") as temporary:
                sets = await asyncio.to_thread(_files, Path(temporary), task, bound.plan, (case,))
                await link.ask("run", limit_of(task, workload, 1), sets=sets)
                return _read(task, sets)[0]

        return await self._pool.run(stage)

    async def close(self) -> None:
        """End the workers."""
        await self._pool.close()

    # ------------------------------------------------------------ parts

    def _name(self) -> str:
        return str(self._pool.device.get("name", DEVICE))

    async def _ceilings_of(self, link: WorkerLink) -> dict[str, float]:
        if link.gpu not in self._ceilings:
            answer = await link.ask("ceilings", COMPILE_LIMIT_S)
            self._ceilings[link.gpu] = {k: float(v) for k, v in answer.items() if k.endswith("_per_s")}
        return self._ceilings[link.gpu]

    async def _timed(
        self, link: WorkerLink, source: str, task: Task, workload: Workload, cases: tuple[Case, ...]
    ) -> ProfileResult:
        ceilings = await self._ceilings_of(link)
        bound = _bind(source, task, workload)
        await _load(link, bound, task)
        vendor = vendor_call(task)
        baselines = [b for b in self.timer.baselines if b != "vendor" or vendor is not None]
        with tempfile.TemporaryDirectory(prefix="kshell-gpu-") as temporary:
            sets = await asyncio.to_thread(_files, Path(temporary), task, bound.plan, cases)
            limit = limit_of(task, workload, len(cases))
            await link.ask("run", limit, sets=sets)
            answer = await link.ask(
                "time",
                COMPILE_LIMIT_S + limit * (self.timer.samples + self.timer.warmup) / 10,
                sets=sets,
                warmup=self.timer.warmup,
                samples=self.timer.samples,
                baselines=baselines,
                compile_mode=self.timer.compile_mode,
                reference=task.reference,
                vendor=vendor
                and {"library": vendor.library, "call": vendor.call, "operands": vendor.operands},
                axes=workload.axes,
                shapes={t.name: list(task.shapes(workload)[t.name]) for t in task.inputs},
            )
            run = _as_run(task, sets, [answer["sets"]])
        outcome = check_run(task, bound.plan, cases, run)
        if outcome.reason:
            reason = f"the timed outputs are wrong: {outcome.reason}"
            return ProfileResult(ok=False, device=self._name(), reason=reason)
        result = measured(task, workload, answer, ceilings, link.device)
        if result.ok and self.timer.counters:
            result = await self._counted(result, source, task, workload, cases[0])
        return result

    async def _counted(
        self, result: ProfileResult, source: str, task: Task, workload: Workload, case: Case
    ) -> ProfileResult:
        """With the hardware's counters, for the fastest so far; otherwise the result says why not."""
        key = f"{task.name} {sorted(workload.axes.items())}"
        if result.median_ms >= self._fastest.get(key, math.inf):
            return result
        self._fastest[key] = result.median_ms
        if not self._no_counters:
            try:
                with tempfile.TemporaryDirectory(prefix="kshell-ncu-") as temporary:
                    built = await build_program(source, task, workload, Path(temporary))
                    found = await counters(built, case.inputs)
            except (ToolsMissing, ProgramFailure) as error:
                self._no_counters = str(error)
            else:
                said = "ncu_*: hardware counters of one call; the rest counted from the task's sizes"
                both = {**result.counters, **found}
                return result.model_copy(update={"counters": both, "source_of_counters": said})
        said = f"{result.source_of_counters}; no hardware counters: {self._no_counters}"
        return result.model_copy(update={"source_of_counters": said})

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
        try:
            limit = limit_of(task, shape, len(cases))
            run = await self._pool.run(lambda link: _run(link, bound, task, cases, limit))
        except WorkerFailure as failure:
            fault = _device_fault(str(failure))
            if fault is None:
                raise
            run = RunResult(f"{fault.name}: {fault.message}", fault)
        outcome = check_run(task, bound.plan, cases, run)
        return outcome.results, outcome.reason, outcome.counterexample


def measured(
    task: Task,
    workload: Workload,
    answer: Mapping[str, Any],
    ceilings: Mapping[str, float],
    device: Mapping[str, Any],
) -> ProfileResult:
    """The result of a worker's samples: medians, roofline, and whether they can be believed."""
    samples: dict[str, list[float]] = answer["samples"]
    own = statistics.median(samples["candidate"])
    quarters = statistics.quantiles(samples["candidate"], n=4)
    flops, moved = task.work(workload)
    floor = 1e3 * max(moved / ceilings["copy_bytes_per_s"], flops / ceilings["fp32_flop_per_s"])
    cached = moved < float(device.get("l2_bytes", 0))
    launch = float(answer["launch_ms"])
    first = next((name for name in samples if name != "candidate"), "")
    base = statistics.median(samples[first]) if first else 0.0
    reason = ""
    if floor < NO_WORK * launch:
        reason = (
            f"the workload is too short to be timed: the device could do it in {floor:.3g} ms, "
            f"an empty launch takes {launch:.3g} ms"
        )
    elif floor / own > SLACK_OVER_CEILING and not cached:
        reason = f"{own:.6f} ms is above the roofline of the device ({floor:.6f} ms): refused"
    elif base and base < launch:
        reason = f"the baseline took {base:.6f} ms, less than an empty launch: the measurement is refused"
    certainty = paired(samples["candidate"], samples[first]) if first else 0.0
    ratio = base / own
    vendor = vendor_call(task)
    labels = {"vendor": f"{vendor.library} ({vendor.call})" if vendor else ""}
    return ProfileResult(
        ok=not reason,
        device=str(device.get("name", DEVICE)),
        median_ms=own,
        iqr_ms=quarters[2] - quarters[0],
        samples=len(samples["candidate"]),
        baseline=labels.get(first, f"torch {first}") if first else "",
        baseline_ms=base,
        # Faster only when the paired difference is significant.
        speedup=(ratio if certainty > SIGNIFICANT else min(ratio, 1.0)) if not reason else 0.0,
        roofline=floor / own,
        counters={
            "flops": float(flops),
            "bytes": float(moved),
            "gb_per_s": moved / own / 1e6,
            "gflop_per_s": flops / own / 1e6,
            "launch_ms": launch,
            "paired_deviations": certainty,
            **answer.get("clocks", {}),
            **{f"{name}_ms": statistics.median(v) for name, v in samples.items() if name != "candidate"},
            **ceilings,
        },
        source_of_counters="counted from the task's sizes against ceilings measured on the device",
        reason=reason,
    )


def paired(own: Sequence[float], other: Sequence[float]) -> float:
    """Sign test of paired samples: by how many standard deviations `own` is the quicker more often than
    chance has it; negative when it is the slower."""
    quicker = sum(a < b for a, b in zip(own, other, strict=True))
    slower = sum(a > b for a, b in zip(own, other, strict=True))
    return (quicker - slower) / math.sqrt(quicker + slower) if quicker + slower else 0.0


async def _load(link: WorkerLink, bound: "_Bound", task: Task) -> dict[str, Any]:
    return await link.ask(
        "load",
        COMPILE_LIMIT_S,
        text=bound.device.text,
        kernels=list(bound.device.kernels),
        plan=json.loads(plan_json(bound.plan, task, bound.device)),
    )


async def _report(link: WorkerLink, bound: "_Bound", task: Task) -> dict[str, float]:
    answer = await _load(link, bound, task)
    kernels = list(answer["report"].values())
    report = {key: float(max(k[key] for k in kernels)) for key in kernels[0]}
    limits = Multiprocessor(**link.device.get("multiprocessor", {}))
    shares = [
        occupancy(
            int(answer["report"][name]["registers"]),
            int(answer["report"][name]["shared_bytes"]) + call.shared_bytes,
            math.prod(call.block),
            limits,
        )
        for name, call in zip(bound.device.kernels, bound.plan.calls, strict=True)
    ]
    return {**report, "occupancy": min(shares)}


def limit_of(task: Task, workload: Workload, runs: int) -> float:
    """Seconds for a request of so many calls: half a second more for every 50 MB and every gigaflop."""
    flops, moved = task.work(workload)
    return RUN_LIMIT_S + runs * (moved / 1e8 + flops / 2e9)


async def _run(
    link: WorkerLink, bound: "_Bound", task: Task, cases: tuple[Case, ...], limit_s: float
) -> RunResult:
    await _load(link, bound, task)
    with tempfile.TemporaryDirectory(prefix="kshell-gpu-") as temporary:
        sets = await asyncio.to_thread(_files, Path(temporary), task, bound.plan, cases)
        answers = []
        outputs = []
        for _ in range(1 if adds_atomically(bound.plan) else 2):
            answer = await link.ask("run", limit_s, sets=sets)
            answers.append(answer["sets"])
            outputs.append(_read(task, sets))
        return _as_run(task, sets, answers, outputs)


_DEVICE_FAULTS = (
    ("illegal memory access", "OUT OF BOUNDS"),
    ("IllegalAddress", "OUT OF BOUNDS"),
    ("InvalidAddressSpace", "OUT OF BOUNDS"),
    ("MisalignedAddress", "MISALIGNED"),
    ("misaligned address", "MISALIGNED"),
    ("did not answer within", "NON-TERMINATION"),
)


def _device_fault(reason: str) -> ProgramFault | None:
    """The fault of a candidate that a device's error means, if it means one."""
    for text, name in _DEVICE_FAULTS:
        if text in reason:
            return ProgramFault(name, reason, SourcePoint(line=0))
    return None


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


def _read(task: Task, sets: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    kinds = {t.name: np.int32 if t.dtype.startswith("int") else np.float32 for t in task.outputs}
    return tuple({n: np.load(path).view(kinds[n]) for n, path in s["outputs"].items()} for s in sets)


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
    read = list(outputs) or [_read(task, sets)]
    bits = [tuple(_bits(o) for o in one) for one in read]
    timings = tuple(Timing(i, 0, b) for one in bits[1:] for i, b in enumerate(one))
    return RunResult(outputs=read[0], digests=bits[0], timings=timings)


def _bits(outputs: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(outputs):
        digest.update(outputs[name].tobytes())
    return digest.hexdigest()
