"""`kshell bench proofs`: which kernels the automatic prover closes, with their seconds."""

import argparse
import asyncio
import json
import os
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    proven."""

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


def run(args: argparse.Namespace) -> int:
    kernels = list(_kernels(args))
    results = asyncio.run(_all(kernels, args.fresh))
    if args.cold:
        results = [_with_cold(one, kernel) for one, kernel in zip(results, kernels, strict=True)]
    proven = sum(one.proven for one in results)
    if args.json:
        print(json.dumps(_summary(results)))
    else:
        print(f"{proven} of {len(results)} proven")
    return 0 if results and proven == len(results) else 1


def _summary(results: list[Outcome]) -> dict[str, Any]:
    closed = [one for one in results if one.proven]
    tasks = sorted({one.task for one in results if one.task not in _EXTRA})
    return {
        "results": [asdict(one) for one in results],
        "proven": len(closed),
        "total": len(results),
        "tasks": len(tasks),
        "tasks_proven": len({one.task for one in closed} - set(_EXTRA)),
        "median_seconds_warm": statistics.median(one.seconds_warm for one in closed) if closed else None,
        "heartbeats": HEARTBEATS,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


async def _all(kernels: list[Kernel], fresh: bool) -> list[Outcome]:
    from kshell.prover import LeanProver

    prover = LeanProver(fresh=fresh)
    results = []
    try:
        if fresh:
            await prover.prepare()
        for kernel in kernels:
            one = await _prove(prover, kernel)
            results.append(one)
            state = "proven" if one.proven else f"open: {one.reason}"
            sizes = " ".join(f"{name}={value}" for name, value in one.axes.items())
            label = " ".join(part for part in (one.task, one.variant, one.choices, sizes) if part)
            print(f"{label}: {state} ({one.seconds_warm:.1f} s)", file=sys.stderr, flush=True)
    finally:
        await prover.close()
    return results


def _with_cold(one: Outcome, kernel: Kernel) -> Outcome:
    from dataclasses import replace

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


async def _prove(prover: "LeanProver", kernel: Kernel) -> Outcome:
    from pathlib import Path

    from insights_db.records import Candidate, ProofStatus
    from kshell.prover.keys import sha256

    candidate = Candidate(
        id=sha256(kernel.source)[:12],
        source=kernel.source,
        task=kernel.task.name,
        round=0,
        index=0,
        proposer="bench",
        family=kernel.variant,
    )
    proof = await prover.prove(candidate, kernel.task, kernel.workload, lambda _obligation, _total: None)
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
    )
