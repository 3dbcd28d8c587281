"""compute-sanitizer as a verifier: memcheck, racecheck, initcheck and synccheck on the exported program.

The self-contained CUDA program of the candidate is compiled with nvcc and run once under each tool on a
small shape of the task. A report is a counterexample; silence proves nothing."""

import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents import synthesis
from agents.protocols import Verdict
from insights_db.records import Candidate, Counterexample, SourcePoint
from kshell.harness import sandbox
from kshell.harness.cases import shrunk
from scaffolds.cuda.host import host_program
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
_FIRST = "// ---- the candidate, verbatim"


class ToolsMissing(Exception):
    """nvcc or compute-sanitizer is not on PATH; the message says which."""


@dataclass(frozen=True, slots=True)
class SanitizerVerifier:
    """Implements `agents.protocols.Verifier` where there is a GPU. `arch` is nvcc's -arch."""

    arch: str = "native"
    name: str = "compute-sanitizer"
    seconds: float = 120.0

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        """Build once, run under every tool. Raises ToolsMissing."""
        started = time.perf_counter()
        missing = [t for t in ("nvcc", "compute-sanitizer") if shutil.which(t) is None]
        if missing:
            raise ToolsMissing(f"{missing[0]} is not on PATH; it comes with the CUDA toolkit")
        shape = shrunk(task, workload, SMALL_WORK)
        with tempfile.TemporaryDirectory(prefix="kshell-sanitize-") as temporary:
            found = await self._run(candidate, task, shape, Path(temporary))
        effort = f"{len(TOOLS)} tools at {shape.axes}"
        return Verdict(self.name, found, time.perf_counter() - started, effort)

    async def _run(
        self, candidate: Candidate, task: Task, shape: Workload, folder: Path
    ) -> Counterexample | None:
        try:
            text = host_program(load(candidate.source), candidate.source, task, shape)
        except Refusal as refusal:
            return Counterexample(fault="REFUSED", message=str(refusal), axes=shape.axes)
        (folder / "program.cu").write_text(text, encoding="utf-8")
        limits = sandbox.Limits(wall_s=self.seconds, cpu_s=int(self.seconds), memory_bytes=1 << 42)
        command = ["nvcc", "-std=c++17", "-lineinfo", f"-arch={self.arch}", "-o", "program", "program.cu"]
        built = await sandbox.run(command, cwd=folder, limits=limits)
        if not built.ok:
            return Counterexample(
                fault="NOT COMPILED", message=(built.stderr.strip().splitlines() or ["nvcc failed"])[0]
            )
        arguments = ["--warmup", "0", "--repeats", "1"]
        for name, array in synthesis.draw(task, shape, "normal", 1).items():
            np.ascontiguousarray(array).tofile(folder / f"{name}.in")
            arguments += ["--in", f"{name}={name}.in"]
        offset = text[: text.index(_FIRST)].count("\n") + 1
        for tool in TOOLS:
            command = ["compute-sanitizer", "--tool", tool, "./program", *arguments]
            run = await sandbox.run(command, cwd=folder, limits=limits)
            found = read_report(tool, run.stdout + run.stderr, offset)
            if found is not None:
                return found.model_copy(update={"axes": shape.axes, "inputs": "distribution=normal seed=1"})
        return None


def read_report(tool: str, text: str, offset: int) -> Counterexample | None:
    """The first complaint of a tool's output; `offset` lines stand before the candidate's first line."""
    summary = _SUMMARY.search(text)
    lines = [line.strip("= ").strip() for line in text.splitlines() if line.startswith("=========")]
    for line in lines:
        for pattern, fault in _FAULTS:
            if pattern.search(line):
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
