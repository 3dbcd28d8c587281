"""`kshell bench proofs`: which kernels the automatic prover closes, with their seconds."""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kshell.cli.options import WHOLE

if TYPE_CHECKING:
    from insights_db.records import Candidate, Proof
    from kshell.prover import LeanProver
    from scaffolds.families import Family, Schedule
    from semantics.task import Task, Workload

HELP = (
    "Prove the kernel families of each task at their conservative schedule and its variants, and print "
    "which close. Exit code 0: all of them did."
)

SUITES = ("elementwise", "level1")
_ELEMENTWISE = ("relu", "silu", "gelu", "gelu_tanh", "scale", "add")
_EXTRA = ("scale", "add")
_COUNTED = {"accumulators": 4}
HEARTBEATS = (
    "the checker does not report them: core Lean has no command that prints the heartbeats of a theorem"
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel of the suite; `choices` are where its schedule departs from the conservative one."""

    task: "Task"
    workload: "Workload"
    variant: str
    choices: str
    source: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """One kernel: `seconds_warm` is wall time with a checker that has started, `seconds_cold` with one that
    starts first (None where it was not measured), `lines` those of the Lean file, `reason` why it is not
    proven. `kept` says that an earlier run decided it and measured the seconds, `key` names the proof (empty
    when none could be written)."""

    task: str
    variant: str
    choices: str
    axes: dict[str, int]
    proven: bool
    obligations: int
    seconds_cold: float | None
    seconds_warm: float
    lines: int
    reason: str = ""
    kept: bool = False
    key: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--suite", choices=SUITES, default="elementwise", help="which tasks (default elementwise)"
    )
    parser.add_argument(
        "--task", action="append", default=[], metavar="T", help="only this task; may be repeated"
    )
    parser.add_argument(
        "--variant", action="append", default=[], metavar="V", help="only families with this in their name"
    )
    parser.add_argument(
        "--ragged",
        action="store_true",
        help="also at sizes that no block divides: every axis from 16 on, plus 1",
    )
    parser.add_argument(
        "--cold", action="store_true", help="prove each once more with a checker that has to start first"
    )
    parser.add_argument("--fresh", action="store_true", help="prove again what was proven before")
    parser.add_argument(
        "--jobs", type=WHOLE, default=1, metavar="N", help="checkers at a time, 2 GB each (default 1)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the table there after every kernel, and go on from what it holds",
    )


def run(args: argparse.Namespace) -> int:
    from kshell.bench.resumed import earlier, write

    kernels = list(_kernels(args))
    known = {} if args.fresh or args.out is None else earlier(args.out)
    results: list[Outcome] = []

    def decided(done: list[Outcome]) -> None:
        if args.out is not None:
            write(args.out, _summary(done, args.jobs, len(kernels)))

    results = asyncio.run(_all(kernels, args.fresh, args.jobs, known, decided))
    if args.cold:
        results = [_with_cold(one, kernel) for one, kernel in zip(results, kernels, strict=True)]
        decided(results)
    proven = sum(one.proven for one in results)
    if args.json:
        print(json.dumps(_summary(results, args.jobs, len(kernels))))
    else:
        print(f"{proven} of {len(results)} proven")
    return 0 if results and proven == len(results) else 1


def _summary(results: list[Outcome], jobs: int, planned: int) -> dict[str, Any]:
    closed = [one for one in results if one.proven]
    measured = [one for one in closed if not one.kept]
    tasks = sorted({one.task for one in results if one.task not in _EXTRA})
    return {
        "results": [asdict(one) for one in results],
        "proven": len(closed),
        "total": len(results),
        "planned": planned,
        "kept": sum(one.kept for one in results),
        "tasks": len(tasks),
        "tasks_proven": len({one.task for one in closed} - set(_EXTRA)),
        "median_seconds_warm": _median(closed),
        "median_seconds_warm_measured": _median(measured),
        "heartbeats": HEARTBEATS,
        "cores": os.cpu_count(),
        "jobs": jobs,
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def _median(results: list[Outcome]) -> float | None:
    return round(statistics.median(one.seconds_warm for one in results), 2) if results else None


async def _all(
    kernels: list[Kernel],
    fresh: bool,
    jobs: int,
    known: dict[str, dict[str, Any]],
    decided: Callable[[list[Outcome]], None],
) -> list[Outcome]:
    """Decide the kernels, `jobs` at a time. `known` holds results of an earlier run by the key of the proof;
    `decided` is called after each kernel with all results so far, in the order of the kernels."""
    from kshell.prover import LeanProver

    results: dict[int, Outcome] = {}
    waiting = iter(enumerate(kernels))
    started = time.monotonic()
    building = asyncio.Lock()

    async def work(slot: int) -> None:
        prover = LeanProver(fresh=fresh, slot=slot)
        try:
            for at, kernel in waiting:
                one = await _decide(prover, kernel, known, building)
                results[at] = one
                decided([results[n] for n in sorted(results)])
                _say(one, len(results), len(kernels), _left(list(results.values()), len(kernels), started))
        finally:
            await prover.close()

    await asyncio.gather(*(work(slot) for slot in range(min(jobs, len(kernels)))))
    return [results[n] for n in sorted(results)]


def _left(results: list[Outcome], total: int, started: float) -> float | None:
    """Seconds that are left, as fast as the kernels of this run went; None before the first."""
    measured = sum(not one.kept for one in results)
    passed = time.monotonic() - started
    return passed / measured * (total - len(results)) if measured else None


def _say(one: Outcome, done: int, total: int, left: float | None) -> None:
    state = "proven" if one.proven else f"open: {one.reason}"
    sizes = " ".join(f"{name}={value}" for name, value in one.axes.items())
    label = " ".join(part for part in (one.task, one.variant, one.choices, sizes) if part)
    took = "kept" if one.kept else f"{one.seconds_warm:.1f} s"
    ahead = "" if left is None else f", about {left / 60:.0f} min left"
    print(f"{done}/{total} {label}: {state} ({took}{ahead})", file=sys.stderr, flush=True)


def _with_cold(one: Outcome, kernel: Kernel) -> Outcome:
    from kshell.prover import LeanProver

    async def again() -> float:
        prover = LeanProver(fresh=True)
        try:
            return (await _prove(prover, kernel)).seconds_warm
        finally:
            await prover.close()

    return replace(one, seconds_cold=asyncio.run(again()))


def ragged(workload: "Workload") -> "Workload":
    """Sizes that no block divides: every axis from 16 on is one longer."""
    return workload.model_copy(
        update={"axes": {k: n + 1 if n >= 16 else n for k, n in workload.axes.items()}}
    )


def _kernels(args: argparse.Namespace) -> Iterator[Kernel]:
    """Every kernel of the suite: each family at its conservative schedule, at each other value of a choice
    between ways to compute, and with --ragged at ragged sizes."""
    from kshell import tasks
    from kshell.errors import UserError
    from scaffolds.families import families_of

    names = args.task or [name for name in tasks.names() if args.suite == "level1" or name in _ELEMENTWISE]
    unknown = sorted(set(names) - set(tasks.names()))
    if unknown:
        raise UserError(f"unknown task {unknown[0]!r}; `kshell tasks` lists them")
    for name in names:
        task = tasks.get(name)
        sizes = [task.workload(), *([ragged(task.workload())] if args.ragged else [])]
        for family in families_of(task):
            if args.variant and not any(part in family.name for part in args.variant):
                continue
            for at, workload in enumerate(sizes):
                for choices, schedule in _schedules(family, task, workload):
                    if at == 0 or not choices:
                        source = family.emit(task, workload, schedule)
                        yield Kernel(task, workload, family.name, choices, source)


def _schedules(family: "Family", task: "Task", workload: "Workload") -> "Iterator[tuple[str, Schedule]]":
    from scaffolds.families.space import conservative_schedule

    base = conservative_schedule(family, task, workload)
    yield "", base
    for parameter in family.parameters:
        others = [c for c in parameter.choices if c != base[parameter.name] and not parameter.ordered]
        others += [_COUNTED[parameter.name]] if parameter.name in _COUNTED else []
        for choice in others:
            changed = {**base, parameter.name: choice}
            if family.reject(task, workload, changed) is None:
                yield f"{parameter.name}={choice}", changed


async def _decide(
    prover: "LeanProver", kernel: Kernel, known: dict[str, dict[str, Any]], building: asyncio.Lock
) -> Outcome:
    """What an earlier run decided about the same proof, or a new one. One prover at a time builds the
    package, which all need."""
    key = await asyncio.to_thread(prover.key, _candidate(kernel), kernel.task, kernel.workload)
    before = known.get(key) if key else None
    if before is not None:
        return replace(Outcome(**before), kept=True)
    stored = prover.kept(key) if key else None
    if stored is not None:
        return replace(_outcome(kernel, stored), kept=True)
    if key:
        async with building:
            await prover.prepare()
    return await _prove(prover, kernel)


def _candidate(kernel: Kernel) -> "Candidate":
    from insights_db.records import Candidate
    from kshell.prover.keys import sha256

    return Candidate(
        id=sha256(kernel.source)[:12],
        source=kernel.source,
        task=kernel.task.name,
        round=0,
        index=0,
        proposer="bench",
        family=kernel.variant,
    )


async def _prove(prover: "LeanProver", kernel: Kernel) -> Outcome:
    proof = await prover.prove(
        _candidate(kernel), kernel.task, kernel.workload, lambda _obligation, _total: None
    )
    return _outcome(kernel, proof)


def _outcome(kernel: Kernel, proof: "Proof") -> Outcome:
    from insights_db.records import ProofStatus

    lines = len(Path(proof.file).read_text(encoding="utf-8").splitlines()) if proof.file else 0
    proven = proof.status is ProofStatus.PROVEN
    return Outcome(
        kernel.task.name,
        kernel.variant,
        kernel.choices,
        dict(kernel.workload.axes),
        proven,
        len(proof.obligations),
        None,
        round(proof.seconds, 2),
        lines,
        "" if proven else proof.reason,
        key=proof.key,
    )
