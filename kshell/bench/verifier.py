"""`kshell bench verifier`: precision and recall of what judges a kernel without a proof.

The labelled set: the bugs and twins of `tests/bugs`, the cheats and the honest kernel of `tests/cheats`,
and one right kernel of each family of each task. A kernel is refused when it is outside the language,
when the falsifier has a counterexample, or when the validator of the device finds a wrong output.
Positive means wrong: precision is the share of refused kernels that are wrong, recall the share of wrong
kernels that are refused.
"""

import argparse
import asyncio
import hashlib
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kshell.cli.options import SECONDS

if TYPE_CHECKING:
    from agents.falsifier import Oracle
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
    for original in mutants.originals([], 100):
        name = f"{original.task.name} {original.variant}"
        yield Labelled(name, original.source, original.task, original.workload, False)


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


async def by_validator(kernel: Labelled, evaluator: "Evaluator") -> dict[str, str]:
    """The complaint of the compiler or the validator."""
    from insights_db.records import Candidate

    if kernel.task.work(kernel.workload)[1] > _LARGEST:
        return {}
    candidate = Candidate(
        id=hashlib.sha256(kernel.source.encode()).hexdigest()[:12],
        source=kernel.source,
        task=kernel.task.name,
        round=0,
        index=0,
        proposer="bench verifier",
    )
    compiled = await evaluator.compile(candidate, kernel.task, kernel.workload)
    if not compiled.ok:
        return {"build": compiled.diagnostics.splitlines()[0]}
    validation = await evaluator.validate(candidate, kernel.task, kernel.workload, compiled)
    return {} if validation.ok else {"validator": validation.reason}


def judge(kernel: Labelled, oracle: "Oracle", evaluator: "Evaluator", seconds: float) -> Judged:
    """Ask everyone, whatever the others said."""
    started = time.monotonic()
    judged = Judged(kernel, by_language_and_falsifier(kernel, oracle, seconds))
    if "language" not in judged.refusals:
        judged.refusals |= asyncio.run(by_validator(kernel, evaluator))
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


_ALL = ("language", "falsifier", "build", "validator")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default="", metavar="TEXT", help="only kernels with TEXT in their name")
    parser.add_argument(
        "--seconds", type=SECONDS, default=4.0, metavar="S", help="falsifier time a kernel (default 4)"
    )


def run(args: argparse.Namespace) -> int:
    from agents.falsifier import oracle_of_specs
    from kshell import tasks
    from kshell.harness.cpu import CpuEvaluator
    from kshell.tasks import reference

    oracle = oracle_of_specs(tasks.spec_of, reference.compute)
    judged: list[Judged] = []
    with tempfile.TemporaryDirectory(prefix="kshell-verifier-") as cache:
        evaluator = CpuEvaluator(reference.compute, Path(cache), spec=tasks.spec_of)
        for kernel in labelled():
            if args.only in kernel.name:
                judged.append(judge(kernel, oracle, evaluator, args.seconds))
                if not args.json:
                    print(_line(judged[-1]), flush=True)
    summary = {
        **scores(judged, _ALL),
        "total": len(judged),
        "wrong": sum(j.kernel.wrong for j in judged),
        "layers": {
            "falsifier": scores(judged, ("language", "falsifier")),
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


def _line(j: Judged) -> str:
    said = "; ".join(f"{layer}: {reason}" for layer, reason in j.refusals.items()) or "accepted"
    label = "wrong" if j.kernel.wrong else "right"
    return f"{'ok ' if j.right else 'BAD'} {label} {j.kernel.name:<42} {j.seconds:5.1f} s  {said[:150]}"


def _as_text(summary: dict[str, Any]) -> str:
    def numbers(of: dict[str, float]) -> str:
        return f"accuracy {of['accuracy']}, precision {of['precision']}, recall {of['recall']}"

    lines = [f"{summary['total']} kernels, {summary['wrong']} of them wrong: {numbers(summary)}"]
    lines += [f"  {name} alone: {numbers(of)}" for name, of in summary["layers"].items()]
    return "\n".join(lines)
