"""`kshell bench proofs`: which kernels the automatic prover closes, with their seconds."""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kshell.prover import LeanProver
    from semantics.task import Task, Workload

HELP = (
    "Prove the kernel families of each task at their conservative schedule and print which close. "
    "Exit code 0: all of them did."
)

SUITES = ("elementwise", "level1")
_ELEMENTWISE = ("relu", "silu", "gelu", "gelu_tanh", "scale", "add")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One kernel: `seconds` is wall time of the proof, `reason` why it is not proven."""

    task: str
    variant: str
    axes: dict[str, int]
    proven: bool
    obligations: int
    seconds: float
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
        "--variant", action="append", default=[], metavar="V", help="only families with this name"
    )
    parser.add_argument("--ragged", action="store_true", help="elementwise: n=16385 beside the default sizes")


def run(args: argparse.Namespace) -> int:
    results = asyncio.run(_all(args))
    proven = sum(one.proven for one in results)
    if args.json:
        print(
            json.dumps({"results": [asdict(one) for one in results], "proven": proven, "total": len(results)})
        )
    else:
        print(f"{proven} of {len(results)} proven")
    return 0 if results and proven == len(results) else 1


async def _all(args: argparse.Namespace) -> list[Outcome]:
    from kshell.prover import LeanProver

    prover = LeanProver(standby=True)
    results = []
    try:
        for task, workload, variant, source in _kernels(args):
            one = await _prove(prover, task, workload, variant, source)
            results.append(one)
            state = "proven" if one.proven else f"open: {one.reason}"
            sizes = " ".join(f"{name}={value}" for name, value in one.axes.items())
            print(
                f"{one.task} {one.variant} {sizes}: {state} ({one.seconds:.1f} s)",
                file=sys.stderr,
                flush=True,
            )
    finally:
        await prover.close()
    return results


def _kernels(args: argparse.Namespace) -> "Iterator[tuple[Task, Workload, str, str]]":
    """Task, workload, variant and source of each kernel of the suite."""
    from kshell import tasks
    from kshell.errors import UserError
    from scaffolds.families import families_of
    from scaffolds.families.space import conservative_schedule

    names = args.task or [name for name in tasks.names() if args.suite == "level1" or name in _ELEMENTWISE]
    unknown = sorted(set(names) - set(tasks.names()))
    if unknown:
        raise UserError(f"unknown task {unknown[0]!r}; `kshell tasks` lists them")
    for name in names:
        task = tasks.get(name)
        workloads = [task.workload()]
        if args.ragged and set(task.axes) == {"n"}:
            workloads.append(task.workload(n=16385))
        for family in families_of(task):
            if args.variant and not any(part in family.name for part in args.variant):
                continue
            for workload in workloads:
                schedule = conservative_schedule(family, task, workload)
                yield task, workload, family.name, family.emit(task, workload, schedule)


async def _prove(
    prover: "LeanProver", task: "Task", workload: "Workload", variant: str, source: str
) -> Outcome:
    from pathlib import Path

    from insights_db.records import Candidate, ProofStatus
    from kshell.prover.keys import sha256

    candidate = Candidate(
        id=sha256(source)[:12],
        source=source,
        task=task.name,
        round=0,
        index=0,
        proposer="bench",
        family=variant,
    )
    proof = await prover.prove(candidate, task, workload, lambda _obligation, _total: None)
    lines = len(Path(proof.file).read_text(encoding="utf-8").splitlines()) if proof.file else 0
    proven = proof.status is ProofStatus.PROVEN
    return Outcome(
        task.name,
        variant,
        dict(workload.axes),
        proven,
        len(proof.obligations),
        round(proof.seconds, 2),
        lines,
        "" if proven else proof.reason,
    )
