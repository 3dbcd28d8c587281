"""`kshell bench verifier`: precision and recall of what judges a kernel without a proof.

The labelled set: the bugs and twins of `tests/bugs`; mutants of right kernels drawn at random
(`tests/bugs/mutants.jsonl`: every wrong one with a concrete counterexample, from a longer search of the
falsifier, every harmless one with the reason why it is right); the cheats and the honest kernel of
`tests/cheats`; two right kernels of each family of each task, one of them with a schedule drawn at random. A
kernel is refused when it is outside the language, when the falsifier or the checked build of device `cpu` has
a counterexample, or when the validator of the device finds a wrong output.
Positive means wrong: precision is the share of refused kernels that are wrong, recall the share of wrong
kernels that are refused.
"""

import argparse
import asyncio
import hashlib
import json
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kshell.cli.options import SECONDS

if TYPE_CHECKING:
    from agents.falsifier import Oracle
    from agents.protocols import Verifier
    from insights_db.records import Candidate
    from kshell.bench import mutants
    from kshell.protocols import Evaluator
    from semantics.task import Task, Workload

HELP = "Measure the falsifier and the validator on a labelled set of right and wrong kernels."
_LARGEST = 1 << 28
"""Bytes of all tensors above which the validator is not asked: it would need that memory."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A kernel and whether it is wrong."""

    name: str
    source: str
    task: "Task"
    workload: "Workload"
    wrong: bool


@dataclass(slots=True)
class Judged:
    """Who refused a kernel, and why."""

    kernel: Labelled
    refusals: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def right(self) -> bool:
        return bool(self.refusals) == self.kernel.wrong


def labelled() -> Iterator[Labelled]:
    """The labelled set. Raises UserError outside a checkout."""
    from kshell import tasks
    from kshell.bench import bugs, cheats, mutants

    for bug in bugs.samples():
        task = tasks.load(bug.task)
        yield Labelled(bug.name, bug.source, task, task.workload(**bug.axes), bug.fault is not None)
    for cheat in cheats.samples():
        if cheat.layer == "profile":  # right values, a dishonest measurement
            continue
        task = tasks.get(cheat.task)
        wrong = cheat.layer != "none"
        yield Labelled(f"cheat {cheat.name}", cheat.source, task, task.workload(**cheat.axes), wrong)
    yield from mutated()
    for original in mutants.originals([], 100):
        name = f"{original.task.name} {original.variant}"
        yield Labelled(name, original.source, original.task, original.workload, False)
        other = rescheduled(original)
        if other is not None:
            yield other


def mutated() -> Iterator[Labelled]:
    """The mutants with their labels."""
    from kshell import tasks
    from kshell.bench import bugs

    for line in (bugs.folder() / "mutants.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        task = tasks.get(row["task"])
        yield Labelled(row["name"], row["source"], task, task.workload(), row["wrong"])


def rescheduled(original: "mutants.Original") -> Labelled | None:
    """The same family with a schedule drawn at random, always the same; None when it has only one."""
    from scaffolds.families import families_of
    from scaffolds.families.space import random_schedule

    task, workload = original.task, original.workload
    family = next(f for f in families_of(task) if f.name == original.variant)
    schedule = random_schedule(family, task, workload, random.Random(f"{task.name} {family.name}"))
    source = family.source(task, workload, schedule)
    if source == original.source:
        return None
    settings = " ".join(f"{name}={value}" for name, value in schedule.items())
    return Labelled(f"{task.name} {family.name} {settings}", source, task, workload, False)


def by_language_and_falsifier(kernel: Labelled, oracle: "Oracle", seconds: float) -> dict[str, str]:
    """The refusal of the language, or the falsifier's counterexample."""
    from agents.falsifier import Attack
    from semantics.program import load
    from semantics.span import Refusal

    try:
        attack = Attack(load(kernel.source), kernel.source, kernel.task, kernel.workload, oracle, seconds)
        finding = attack.search()
    except Refusal as refusal:
        return {"language": str(refusal)}
    if finding is None:
        return {}
    return {"falsifier": f"{finding.counterexample.fault}: {finding.counterexample.message}"}


async def by_checker(kernel: Labelled, checker: "Verifier") -> dict[str, str]:
    """The counterexample of the checked build."""
    verdict = await checker.attack(_candidate(kernel), kernel.task, kernel.workload)
    found = verdict.counterexample
    return {} if found is None else {"checker": f"{found.fault}: {found.message}"}


def _candidate(kernel: Labelled) -> "Candidate":
    from insights_db.records import Candidate

    return Candidate(
        id=hashlib.sha256(kernel.source.encode()).hexdigest()[:12],
        source=kernel.source,
        task=kernel.task.name,
        round=0,
        index=0,
        proposer="bench verifier",
    )


async def by_validator(kernel: Labelled, evaluator: "Evaluator") -> dict[str, str]:
    """The complaint of the compiler or the validator."""
    if kernel.task.work(kernel.workload)[1] > _LARGEST:
        return {}
    candidate = _candidate(kernel)
    compiled = await evaluator.compile(candidate, kernel.task, kernel.workload)
    if not compiled.ok:
        return {"build": compiled.diagnostics.splitlines()[0]}
    validation = await evaluator.validate(candidate, kernel.task, kernel.workload, compiled)
    return {} if validation.ok else {"validator": validation.reason}


async def judge(
    kernel: Labelled, oracle: "Oracle", evaluator: "Evaluator", checker: "Verifier", seconds: float
) -> Judged:
    """Ask everyone, whatever the others said."""
    started = time.monotonic()
    judged = Judged(kernel, await asyncio.to_thread(by_language_and_falsifier, kernel, oracle, seconds))
    if "language" not in judged.refusals:
        judged.refusals |= await by_checker(kernel, checker)
        judged.refusals |= await by_validator(kernel, evaluator)
    judged.seconds = time.monotonic() - started
    return judged


def scores(judged: list[Judged], layers: tuple[str, ...]) -> dict[str, float]:
    """Accuracy, precision and recall of some layers together, in percent."""
    refused = [(j.kernel.wrong, any(layer in j.refusals for layer in layers)) for j in judged]
    hits = sum(wrong and said for wrong, said in refused)
    alarms = sum(said and not wrong for wrong, said in refused)
    wrong = sum(w for w, _ in refused)
    agreed = sum(w == said for w, said in refused)
    return {
        "accuracy": round(100 * agreed / max(1, len(refused)), 1),
        "precision": round(100 * hits / (hits + alarms), 1) if hits + alarms else 0.0,
        "recall": round(100 * hits / wrong, 1) if wrong else 0.0,
    }


_ALL = ("language", "falsifier", "checker", "build", "validator")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="where the validator runs (default cpu)"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only kernels with TEXT in their name")
    parser.add_argument(
        "--seconds", type=SECONDS, default=4.0, metavar="S", help="falsifier time a kernel (default 4)"
    )
    parser.add_argument(
        "--part", default="1/1", metavar="K/N", help="only every N-th kernel, from the K-th (default 1/1)"
    )


def run(args: argparse.Namespace) -> int:
    kernels = [kernel for kernel in labelled() if args.only in kernel.name]
    judged = asyncio.run(_judged(_part(kernels, args.part), args))
    summary = {
        "device": args.device,
        **scores(judged, _ALL),
        "total": len(judged),
        "wrong": sum(j.kernel.wrong for j in judged),
        "layers": {
            "falsifier": scores(judged, ("language", "falsifier")),
            "checker": scores(judged, ("language", "checker")),
            "validator": scores(judged, ("language", "build", "validator")),
        },
        "mistakes": [
            {"name": j.kernel.name, "wrong": j.kernel.wrong, "said": j.refusals}
            for j in judged
            if not j.right
        ],
    }
    print(json.dumps(summary) if args.json else _as_text(summary))
    return 0 if not summary["mistakes"] else 1


def _part(kernels: list[Labelled], text: str) -> list[Labelled]:
    from kshell.errors import UserError

    first, _, step = text.partition("/")
    if not (first.isdigit() and step.isdigit() and 1 <= int(first) <= int(step)):
        raise UserError(f"--part {text!r} is not K/N with 1 <= K <= N")
    return kernels[int(first) - 1 :: int(step)]


async def _judged(kernels: list[Labelled], args: argparse.Namespace) -> list[Judged]:
    from agents.falsifier import oracle_of_specs
    from kshell import tasks, wiring
    from kshell.engine.desk import Closing
    from kshell.engine.settings import Settings
    from kshell.harness.cpu import CpuEvaluator
    from kshell.harness.shadow import CpuChecker
    from kshell.tasks import reference

    oracle = oracle_of_specs(tasks.spec_of, reference.compute)
    found: list[Judged] = []
    with tempfile.TemporaryDirectory(prefix="kshell-verifier-") as cache:
        on_cpu = CpuEvaluator(reference.compute, Path(cache), spec=tasks.spec_of)
        evaluator = on_cpu if args.device == "cpu" else wiring.evaluator(Settings(device=args.device))
        checker = CpuChecker(Path(cache))
        try:
            for kernel in kernels:
                found.append(await judge(kernel, oracle, evaluator, checker, args.seconds))
                if not args.json:
                    print(_line(found[-1]), flush=True)
        finally:
            if isinstance(evaluator, Closing):
                await evaluator.close()
    return found


def _line(j: Judged) -> str:
    said = "; ".join(f"{layer}: {reason}" for layer, reason in j.refusals.items()) or "accepted"
    label = "wrong" if j.kernel.wrong else "right"
    return f"{'ok ' if j.right else 'BAD'} {label} {j.kernel.name:<42} {j.seconds:5.1f} s  {said[:150]}"


def _as_text(summary: dict[str, Any]) -> str:
    def numbers(of: dict[str, float]) -> str:
        return f"accuracy {of['accuracy']}, precision {of['precision']}, recall {of['recall']}"

    head = f"{summary['total']} kernels on {summary['device']}, {summary['wrong']} of them wrong"
    lines = [f"{head}: {numbers(summary)}"]
    lines += [f"  {name} alone: {numbers(of)}" for name, of in summary["layers"].items()]
    return "\n".join(lines)
