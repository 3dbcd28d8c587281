"""Verifiers that run the self-contained CUDA program of a candidate, where there is a GPU.

`SanitizerVerifier` runs it under compute-sanitizer's memcheck, racecheck, initcheck and synccheck on small
and ragged shapes; `AgreementVerifier` runs it as it is and wants the very bits the worker computes from the
same source. A report is a counterexample; silence proves nothing."""

import asyncio
import functools
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents import synthesis
from agents.protocols import Verdict
from insights_db.records import Candidate, Counterexample, SourcePoint
from kshell.harness import sandbox
from kshell.harness.cases import shrunk, side_shapes
from kshell.harness.exported import (
    LIMITS,
    BuiltProgram,
    ProgramFailure,
    build_program,
    needed,
    put_inputs,
    run_program,
)
from kshell.harness.validate import adds_atomically
from semantics.program import load
from semantics.span import Refusal
from semantics.task import Task, Workload

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
SMALL_WORK = 2_000_000
_FAULTS = (
    (re.compile(r"Invalid __(?:global|shared|local)__ (?:read|write)"), "OUT OF BOUNDS"),
    (re.compile(r"misaligned", re.IGNORECASE), "MISALIGNED"),
    (re.compile(r"Race reported|hazard", re.IGNORECASE), "RACE"),
    (re.compile(r"Uninitialized", re.IGNORECASE), "UNINITIALISED READ"),
    (re.compile(r"Barrier error|Divergent thread", re.IGNORECASE), "DIVERGENT BARRIER"),
)
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")
_LINE = re.compile(r"program\.cu:(\d+)")

Array = npt.NDArray[Any]
# Task, workload and inputs by name to the bits the worker leaves in each output.
WorkerRun = Callable[[str, Task, Workload, Mapping[str, Array]], Awaitable[Mapping[str, Array]]]


@dataclass(slots=True)
class SanitizerVerifier:
    """Implements `agents.protocols.Verifier`. `arch` is nvcc's -arch; `seed` draws the hidden shapes."""

    arch: str = "native"
    name: str = "compute-sanitizer"
    seed: int = 0

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        """Build once a shape, run under every tool. Raises ToolsMissing."""
        started = time.perf_counter()
        needed("nvcc", "compute-sanitizer")
        small = shrunk(task, workload, SMALL_WORK)
        sides = side_shapes(task, small, random.Random(self.seed))
        shapes = [small, *(s for name, s in sides if name == "ragged +1")]
        found = None
        for shape in shapes:
            with tempfile.TemporaryDirectory(prefix="kshell-sanitize-") as temporary:
                found = await self._run(candidate, task, shape, Path(temporary))
            if found is not None:
                break
        effort = f"{len(TOOLS)} tools at {', '.join(str(s.axes) for s in shapes)}"
        return Verdict(self.name, found, time.perf_counter() - started, effort)

    async def _run(
        self, candidate: Candidate, task: Task, shape: Workload, folder: Path
    ) -> Counterexample | None:
        try:
            built = await build_program(candidate.source, task, shape, folder, self.arch, watched=True)
        except (Refusal, ProgramFailure) as error:
            return Counterexample(fault="NOT COMPILED", message=str(error), axes=shape.axes)
        drawn = await asyncio.to_thread(synthesis.draw, task, shape, "normal", 1)
        arguments = ["--warmup", "0", "--repeats", "1", *put_inputs(built, drawn)]
        for tool in TOOLS:
            found = await self._tool(tool, built, arguments)
            if found is not None:
                return found.model_copy(update={"axes": shape.axes, "inputs": "distribution=normal seed=1"})
        return None

    async def _tool(self, tool: str, built: BuiltProgram, arguments: list[str]) -> Counterexample | None:
        command = ["compute-sanitizer", "--tool", tool, *_further(tool), *built.command, *arguments]
        run = await sandbox.run(command, cwd=built.folder, limits=LIMITS)
        return read_report(tool, run.stdout + run.stderr, built.offset)


def _further(tool: str) -> list[str]:
    """Options that make a tool look at more. initcheck looks at shared memory from release 2025.4 on."""
    return ["--initcheck-address-space", "all"] if tool == "initcheck" and _shared_initcheck() else []


@functools.cache
def _shared_initcheck() -> bool:
    said = subprocess.run(["compute-sanitizer", "--help"], capture_output=True, text=True, timeout=60)
    return "--initcheck-address-space" in said.stdout + said.stderr


def read_report(tool: str, text: str, offset: int) -> Counterexample | None:
    """The first complaint of a tool's output; `offset` lines stand before the candidate's first line."""
    summary = _SUMMARY.search(text)
    lines = [line.strip("= ").strip() for line in text.splitlines() if line.startswith("=========")]
    for line in lines:
        for pattern, fault in _FAULTS:
            if pattern.search(line) and "SUMMARY" not in line:
                place = _LINE.search(text[text.index(line) :])
                number = int(place.group(1)) - offset if place else 0
                points = (SourcePoint(line=number),) if number > 0 else ()
                return Counterexample(fault=fault, message=f"{tool}: {line}", points=points)
    if summary is not None and int(summary.group(1)) > 0:
        first = next((x for x in lines if x and "SUMMARY" not in x and "COMPUTE" not in x), "an error")
        return Counterexample(fault="FAULT", message=f"{tool}: {first}")
    if summary is None:
        tail = text.strip().splitlines()[-1:] or ["no output"]
        return Counterexample(fault="FAULT", message=f"{tool} did not finish: {tail[0][:200]}")
    return None


@dataclass(slots=True)
class AgreementVerifier:
    """Implements `agents.protocols.Verifier`: the exported program against the worker, on one shape of the
    task (shrunk when a call is expensive) and one ragged one. `worker` runs a source on the device."""

    worker: WorkerRun
    arch: str = "native"
    name: str = "exported program"
    seed: int = 0
    distributions: tuple[str, ...] = ("normal", "denormal")

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        """Build with nvcc, run, compare every bit. Raises ToolsMissing."""
        started = time.perf_counter()
        needed("nvcc")
        small = shrunk(task, workload, SMALL_WORK)
        sides = side_shapes(task, small, random.Random(self.seed))
        shapes = [small, *(s for name, s in sides if name == "ragged +1")]
        found = None
        for shape in shapes:
            found = await self._compare(candidate, task, shape)
            if found is not None:
                break
        effort = f"built by nvcc, compared with the worker at {', '.join(str(s.axes) for s in shapes)}"
        return Verdict(self.name, found, time.perf_counter() - started, effort)

    async def _compare(self, candidate: Candidate, task: Task, shape: Workload) -> Counterexample | None:
        try:
            exact = not adds_atomically(load(candidate.source).plan(task, shape))
            with tempfile.TemporaryDirectory(prefix="kshell-exported-") as temporary:
                built = await build_program(candidate.source, task, shape, Path(temporary), self.arch)
                for name in self.distributions:
                    drawn = await asyncio.to_thread(synthesis.draw, task, shape, name, 1)
                    outputs, _ = await run_program(built, drawn)
                    expected = await self.worker(candidate.source, task, shape, drawn)
                    message = disagreement(outputs, expected, exact=exact)
                    if message is not None:
                        return Counterexample(
                            fault="WRONG VALUE",
                            message=message,
                            axes=shape.axes,
                            inputs=f"distribution={name} seed=1",
                        )
        except (Refusal, ProgramFailure) as error:
            return Counterexample(fault="FAULT", message=f"exported program: {error}", axes=shape.axes)
        return None


def disagreement(
    program: Mapping[str, Array], worker: Mapping[str, Array], *, exact: bool = True
) -> str | None:
    """The first element where the two differ, in one line; None when they agree. Unless `exact`, a
    hundred-thousandth of the value may be lost to the order of atomic additions."""
    for name, values in worker.items():
        got, want = program[name].reshape(-1), values.reshape(-1)
        if got.shape != want.shape:
            return f"{name} has {got.size} elements in the exported program and {want.size} in the worker"
        same = got.view(np.uint32) == want.view(np.uint32)
        if not exact:
            same |= np.isclose(got, want, rtol=1e-5, atol=1e-6)
        if not same.all():
            place = int(np.argmin(same))
            return (
                f"{name}[{place}] is {got[place]:.9g} in the exported program, {want[place]:.9g} in the "
                f"worker ({int((~same).sum())} of {same.size} differ)"
            )
    return None
