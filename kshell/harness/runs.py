"""One run of a built candidate: files in, the program under its limits, files and times out."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from insights_db.records import SourcePoint
from kshell.harness import sandbox
from kshell.harness.judge import Dump, digest, read_dump
from scaffolds.program import RED_ZONE, buffer_bytes, plan_text
from semantics import core
from semantics.task import Task, Workload

Array = npt.NDArray[Any]
_FAULT_PREFIX = "kshell-fault\t"
_PLACE_PREFIX = "kshell-place\t"
_OUTPUT_ROOM = 64 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where a thread of a checked build was: an address in the program, and what it did there."""

    address: str
    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None
    what: str


@dataclass(frozen=True, slots=True)
class ProgramFault:
    """A fault the program itself named. `places` has two entries for a race, in a checked build."""

    name: str
    message: str
    point: SourcePoint
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Timing:
    """One timed repetition: which input set, wall time, digest of its outputs."""

    set: int
    nanoseconds: int
    digest: str


@dataclass(frozen=True, slots=True)
class RunResult:
    """`failure` is one line, empty for a run that ended well; the rest is then filled in.

    `outputs` holds per set the output tensors as float32 (or int32) vectors."""

    failure: str = ""
    fault: ProgramFault | None = None
    outputs: tuple[dict[str, Array], ...] = ()
    digests: tuple[str, ...] = ()
    timings: tuple[Timing, ...] = ()
    seconds: float = 0.0
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class RunRequest:
    """`sets` holds per set every input; repetition r uses set r modulo their number.

    `order` is `fast` (as timed), or an order in which the threads of a block are started."""

    artifact: Path
    task: Task
    plan: core.Plan
    sets: Sequence[dict[str, Array]]
    order: str = "fast"
    seed: int = 0
    warmup: int = 0
    repeats: int = 1
    threads: int = 1
    limits: sandbox.Limits = field(default_factory=sandbox.Limits)


def limits_of(task: Task, workload: Workload, plan: core.Plan, runs: int) -> sandbox.Limits:
    """Time for a number of calls: five seconds, one more for every 20 million operations and for every
    300 thousand threads started."""
    threads = sum(prod(call.grid) * prod(call.block) for call in plan.calls)
    wall = 5.0 + runs * (task.work(workload)[0] / 2e7 + threads / 3e5)
    return sandbox.Limits(wall_s=wall, cpu_s=int(wall) + 5)


async def execute(request: RunRequest) -> RunResult:
    """Run and read everything back. Never raises for what the program does."""
    with tempfile.TemporaryDirectory(prefix="kshell-run-") as temporary:
        folder = Path(temporary)
        command = _prepare(request, folder)
        finished = await sandbox.run(command, cwd=folder, limits=_limits(request))
        if not finished.ok:
            return _failed(finished, request)
        return await asyncio.to_thread(_collect, request, folder, finished.seconds)


def _limits(request: RunRequest) -> sandbox.Limits:
    sizes = buffer_bytes(request.plan)
    largest = max(sizes.values(), default=0) + 2 * RED_ZONE
    room = largest * len(request.sets) + _OUTPUT_ROOM
    base = request.limits
    return sandbox.Limits(base.wall_s, base.cpu_s, base.memory_bytes, room, base.output_bytes)


def _prepare(request: RunRequest, folder: Path) -> list[str]:
    (folder / "plan").write_text(plan_text(request.plan, request.task), encoding="ascii")
    options = {
        "--sets": len(request.sets),
        "--warmup": request.warmup,
        "--repeats": request.repeats,
        "--threads": request.threads,
        "--order": request.order,
        "--seed": request.seed,
        "--times": "times",
    }
    command = [str(request.artifact), "--plan", "plan"]
    for option, value in options.items():
        command += [option, str(value)]
    for tensor in request.task.inputs:
        if tensor.name not in request.plan.buffers:
            continue
        with (folder / f"{tensor.name}.in").open("wb") as file:
            for arrays in request.sets:
                file.write(np.ascontiguousarray(arrays[tensor.name]).tobytes())
        command += ["--in", f"{tensor.name}={tensor.name}.in"]
    for name in request.plan.buffers:
        command += ["--out", f"{name}={name}.out"]
    return command


def _failed(finished: sandbox.Finished, request: RunRequest) -> RunResult:
    timed_out = finished.ending is sandbox.Ending.TIMEOUT
    places = []
    for line in finished.stderr.splitlines():
        if line.startswith(_PLACE_PREFIX):
            _, address, block, thread, what = line.split("\t", 4)
            places.append(Place(address, _triple(block), _triple(thread), what))
        if line.startswith(_FAULT_PREFIX):
            fault = replace(_parse_fault(line), places=tuple(places))
            return RunResult(f"{fault.name}: {fault.message}", fault, seconds=finished.seconds)
    detail = finished.stderr.strip().splitlines()
    reason = f"the program {finished.reason(request.limits)}" + (f": {detail[-1][:200]}" if detail else "")
    return RunResult(reason, seconds=finished.seconds, timed_out=timed_out)


def _triple(text: str) -> tuple[int, int, int] | None:
    parts = text.split(",")
    return (int(parts[0]), int(parts[1]), int(parts[2])) if len(parts) == 3 else None


def _parse_fault(line: str) -> ProgramFault:
    _, name, number, block, thread, message = line.split("\t", 5)
    place = SourcePoint(line=int(number), block=_triple(block), thread=_triple(thread))
    where = f" (line {place.line})" if place.line else ""
    where += f" in block {place.block}, thread {place.thread}" if place.thread else ""
    return ProgramFault(name, message + where, place)


def _collect(request: RunRequest, folder: Path, seconds: float) -> RunResult:
    sizes = buffer_bytes(request.plan)
    inputs = {t.name for t in request.task.inputs}
    dumps: dict[str, Dump] = {}
    for name in request.plan.buffers:
        try:
            dumps[name] = read_dump((folder / f"{name}.out").read_bytes(), sizes[name])
        except (OSError, ValueError) as error:
            return RunResult(f"the program left no usable output {name}: {error}", seconds=seconds)
        damage = dumps[name].damage
        if damage is not None:
            behind = damage - sizes[name]
            place = f"{-damage} bytes before the start" if damage < 0 else f"{behind} bytes behind the end"
            message = f"a write {place} of {name} damaged its guard"
            fault = ProgramFault("OUT OF BOUNDS", message, SourcePoint(line=0))
            return RunResult(f"OUT OF BOUNDS: {message}", fault, seconds=seconds)
    for name in inputs & dumps.keys():
        for arrays, seen in zip(request.sets, dumps[name].sets, strict=True):
            if np.ascontiguousarray(arrays[name]).tobytes() != seen.tobytes():
                return RunResult(f"the input {name} was changed", seconds=seconds)
    names = [t.name for t in request.task.outputs]
    missing = [n for n in names if n not in dumps]
    if missing:
        return RunResult(f"the launcher never passes the output {missing[0]} to a kernel", seconds=seconds)
    order = [n for n in request.plan.buffers if n in names]
    kinds = {t.name: np.int32 if t.dtype.startswith("int") else np.float32 for t in request.task.outputs}
    sets = range(len(request.sets))
    outputs = tuple({n: dumps[n].sets[k].view(kinds[n]) for n in names} for k in sets)
    digests = tuple(digest([dumps[n].sets[k] for n in order]) for k in sets)
    return RunResult("", None, outputs, digests, _timings(folder / "times"), seconds)


def _timings(path: Path) -> tuple[Timing, ...]:
    lines = path.read_text(encoding="ascii").splitlines()
    words = [line.split() for line in lines]
    return tuple(Timing(int(w[0]), int(w[1]), w[2]) for w in words)
