"""A verifier on device `cpu`: every memory access of the candidate checked against shadow memory.

The same host program, compiled so that a call precedes each access, runs at the task's shape (shrunk when
a call is expensive) and at ragged and hidden ones, in two thread orders. It finds races within and across
blocks, out-of-bounds and misaligned accesses, uninitialised reads, divergent barriers and bad masks,
with both threads and source lines, some ten times slower than the timed build. What depends on values
that do not occur in these inputs is not found: silence proves nothing."""

import random
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents import synthesis
from agents.protocols import Verdict
from insights_db.records import Candidate, Counterexample, SourcePoint
from kshell.harness import sandbox
from kshell.harness.build import build
from kshell.harness.cases import shrunk, side_shapes
from kshell.harness.runs import Place, RunRequest, RunResult, execute
from kshell.harness.toolchain import ToolchainMissing, find
from scaffolds.program import cpu_program
from semantics.program import Program, load
from semantics.span import Refusal
from semantics.task import Task, Workload

CHECKED_WORK = 3_000_000
ORDERS = ("forward", "random")
_LIMITS = sandbox.Limits(wall_s=10, cpu_s=20)
_TOO_SLOW = "not finished within the time of the checker"


@dataclass(frozen=True, slots=True)
class _Attempt:
    counterexample: Counterexample | None
    note: str = ""


class CpuChecker:
    """Implements `agents.protocols.Verifier`. `cache` keeps builds; `seed` draws the inputs and orders."""

    name = "shadow memory (cpu)"

    def __init__(self, cache: Path, seed: int = 0) -> None:
        self._cache = cache / "cpu"
        self._seed = seed

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        """Run the checked build at several shapes. A candidate outside the language gives no verdict."""
        started = time.monotonic()
        try:
            program = load(candidate.source)
            built = await build(find(), cpu_program(program.module), self._cache, checked=True)
        except (Refusal, ToolchainMissing) as error:
            return Verdict(self.name, None, time.monotonic() - started, f"not run: {error}")
        if not built.ok:
            effort = f"not run: {built.diagnostics.splitlines()[0]}"
            return Verdict(self.name, None, time.monotonic() - started, effort)
        done: list[str] = []
        for name, shape in self._shapes(task, workload):
            for order in ORDERS:
                attempt = await self._try(Path(built.artifact), program, task, shape, order)
                if attempt.counterexample is not None:
                    return self._verdict(attempt.counterexample, started, done)
                if attempt.note:  # it would not do better at the next shape
                    return self._verdict(None, started, [*done, attempt.note])
            done.append(name)
        return self._verdict(None, started, done)

    def _verdict(self, found: Counterexample | None, started: float, done: Sequence[str]) -> Verdict:
        effort = f"{', '.join(done)}; {len(ORDERS)} thread orders each"
        return Verdict(self.name, found, time.monotonic() - started, effort)

    def _shapes(self, task: Task, workload: Workload) -> list[tuple[str, Workload]]:
        small = shrunk(task, workload, CHECKED_WORK)
        sides = side_shapes(task, small, random.Random(self._seed))
        return [*((n, s) for n, s in sides if n == "hidden"), ("task shape", small), *sides[:1]]

    async def _try(
        self, artifact: Path, program: Program, task: Task, shape: Workload, order: str
    ) -> _Attempt:
        try:
            plan = program.plan(task, shape)
        except Refusal as refusal:
            return _Attempt(None, f"refused at {shape.axes}: {refusal}")
        request = RunRequest(
            artifact=artifact,
            task=task,
            plan=plan,
            sets=[synthesis.draw(task, shape, "normal", self._seed)],
            order=order,
            seed=self._seed,
            limits=_LIMITS,
        )
        run = await execute(request)
        if run.timed_out:
            return _Attempt(None, f"{_TOO_SLOW} at {shape.axes}")
        if run.fault is None:
            return _Attempt(None, run.failure)
        return _Attempt(await self._counterexample(artifact, run, shape, order))

    async def _counterexample(
        self, artifact: Path, run: RunResult, shape: Workload, order: str
    ) -> Counterexample:
        assert run.fault is not None
        points = await _points(artifact, run.fault.places) or (
            (run.fault.point,) if run.fault.point.thread or run.fault.point.line else ()
        )
        lines = " and ".join(f"line {p.line}" for p in points if p.line)
        return Counterexample(
            fault=run.fault.name,
            message=f"{run.fault.message} ({lines})" if lines and run.fault.places else run.fault.message,
            axes=shape.axes,
            inputs=f"distribution=normal seed={self._seed} order={order}",
            points=points,
        )


async def _points(artifact: Path, places: Sequence[Place]) -> tuple[SourcePoint, ...]:
    """Source lines of addresses, by addr2line; line 0 when it is missing or does not know."""
    tool = shutil.which("addr2line")
    lines = [0] * len(places)
    if tool and places:
        command = [tool, "-e", str(artifact), *(p.address for p in places)]
        finished = await sandbox.run(command, cwd=artifact.parent)
        for k, text in enumerate(finished.stdout.splitlines()[: len(places)]):
            file, _, number = text.split(" ")[0].rpartition(":")
            if file.endswith("kernel.cu") and number.isdigit():
                lines[k] = int(number)
    return tuple(
        SourcePoint(line=line, thread=p.thread, block=p.block, text=p.what)
        for line, p in zip(lines, places, strict=True)
    )
