"""`kshell bench mutants`: small changes of right kernels, and which stage refuses them.

Originals are the kernel families at their conservative schedule, one or more for each task. A mutant is
refused at the stage that stops it: outside the language, refuted by the falsifier, or unproven. One that
lowers to the kernels of its original is equivalent and not counted; neither is one that the prover
proves equal to the spec. With --proofs refuted mutants are given to the prover too, at the sizes of the
counterexample: one that proves has escaped. Without, a mutant that the falsifier does not refute is
undecided: nothing accepts it, and it may be equivalent.
"""

import argparse
import asyncio
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kshell.cli.options import COUNT, SECONDS, WHOLE

if TYPE_CHECKING:
    from agents.falsifier import Oracle
    from insights_db.records import Counterexample
    from kshell.prover import LeanProver
    from semantics.mutate import Mutant
    from semantics.program import Program
    from semantics.task import Task, Workload

HELP = (
    "Mutate right kernels by five rules (arithmetic, loads and stores, barriers, registers, loop ranges) "
    "and count which stage refuses each mutant. Aim: none escapes, no original is refused."
)


@dataclass(frozen=True, slots=True)
class Original:
    """A right kernel."""

    task: "Task"
    workload: "Workload"
    variant: str
    source: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant. `stage` is language, falsifier, proof, equivalent, undecided or escaped;
    `reason` is the refusal, the fault or why it is undecided."""

    original: Original
    mutant: "Mutant"
    stage: str
    reason: str = ""


def originals(names: list[str], variants: int) -> Iterator[Original]:
    """The families of each task, plainest first, at most `variants` of them."""
    from kshell import tasks
    from scaffolds.families import families_of
    from scaffolds.families.space import conservative_schedule

    for name in names or [n for n in tasks.names() if n not in ("scale", "add")]:
        task = tasks.get(name)
        workload = task.workload()
        for family in families_of(task)[:variants]:
            schedule = conservative_schedule(family, task, workload)
            yield Original(task, workload, family.name, family.source(task, workload, schedule))


def refuted(
    source: str, program: "Program", original: Original, oracle: "Oracle", seconds: float
) -> "Counterexample | None":
    """A counterexample of the falsifier."""
    from agents.falsifier import Attack

    finding = Attack(program, source, original.task, original.workload, oracle, seconds).search()
    return None if finding is None else finding.counterexample


class Study:
    """One run of the bench."""

    def __init__(self, oracle: "Oracle", seconds: float, prover: "LeanProver | None") -> None:
        self._oracle = oracle
        self._seconds = seconds
        self._prover = prover
        self._loop = asyncio.Runner()  # a checker lives as long as the loop that started it

    def close(self) -> None:
        """End the checker."""
        with self._loop:
            if self._prover is not None:
                self._loop.run(self._prover.close())

    def refused_original(self, original: Original) -> str:
        """Why a right kernel would be refused; empty when it is not."""
        from semantics.program import load

        found = refuted(original.source, load(original.source), original, self._oracle, self._seconds)
        if found is not None:
            return f"{found.fault}: {found.message}"
        if self._prover is not None and not self._proven(original.source, original, original.workload):
            return "not proven"
        return ""

    def outcome(self, original: Original, mutant: "Mutant") -> Outcome:
        """Put a mutant through the stages."""
        from semantics.program import load
        from semantics.span import Refusal

        try:
            program = load(mutant.source)
            plan = program.plan(original.task, original.workload)
            if plan == load(original.source).plan(original.task, original.workload):
                return Outcome(original, mutant, "equivalent", "lowers to the same kernels")
            found = refuted(mutant.source, program, original, self._oracle, self._seconds)
        except Refusal as refusal:
            return Outcome(original, mutant, "language", str(refusal))
        if found is not None:
            return self._soundness(original, mutant, found)
        if self._prover is None:
            return Outcome(original, mutant, "undecided", "no counterexample, and no proof was tried")
        if self._proven(mutant.source, original, original.workload):
            return Outcome(original, mutant, "equivalent", "proven equal to the spec")
        return Outcome(original, mutant, "proof", "unproven")

    def _soundness(self, original: Original, mutant: "Mutant", found: "Counterexample") -> Outcome:
        """A refuted mutant; when proofs are on, also try to prove it where it is wrong."""
        workload = original.workload.model_copy(update={"axes": found.axes})
        if self._prover is not None and self._proven(mutant.source, original, workload):
            return Outcome(original, mutant, "escaped", f"proven although {found.fault}: {found.message}")
        return Outcome(original, mutant, "falsifier", found.fault)

    def _proven(self, source: str, original: Original, workload: "Workload") -> bool:
        from insights_db.records import Candidate, ProofStatus

        assert self._prover is not None
        candidate = Candidate(
            id=hashlib.sha256(source.encode()).hexdigest()[:12],
            source=source,
            task=original.task.name,
            round=0,
            index=0,
            proposer="bench",
        )
        proof = self._loop.run(self._prover.prove(candidate, original.task, workload, lambda *_: None))
        return proof.status is ProofStatus.PROVEN


def sample(source: str, count: int, seed: int) -> "list[Mutant]":
    """At most `count` mutants, the rules in turn, at random within a rule."""
    from semantics.mutate import Rule, mutants
    from semantics.parser import parse

    every = list(mutants(parse(source)))
    random.Random(seed).shuffle(every)
    by_rule = [[m for m in every if m.rule is rule] for rule in Rule]
    chosen: list[Mutant] = []
    while len(chosen) < count and any(by_rule):
        for queue in by_rule:
            if queue and len(chosen) < count:
                chosen.append(queue.pop())
    return chosen


def drawn(kernels: list[Original], mutants: int, total: int | None, seed: int) -> "list[list[Mutant]]":
    """The mutants of each kernel: a sample of each, and of these `total` at random when it is given."""
    chosen = [sample(kernel.source, mutants, seed) for kernel in kernels]
    if total is None:
        return chosen
    every = [(at, n) for at, some in enumerate(chosen) for n in range(len(some))]
    kept = set(random.Random(seed).sample(every, min(total, len(every))))
    return [[m for n, m in enumerate(some) if (at, n) in kept] for at, some in enumerate(chosen)]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="tasks (default: the level-1 suite)")
    parser.add_argument("--variants", type=WHOLE, default=3, metavar="N", help="kernels a task (default 3)")
    parser.add_argument(
        "--mutants", type=WHOLE, default=20, metavar="N", help="mutants a kernel (default 20)"
    )
    parser.add_argument(
        "--seconds", type=SECONDS, default=3.0, metavar="S", help="falsifier time a mutant (default 3)"
    )
    parser.add_argument(
        "--sample", type=WHOLE, metavar="N", help="only N mutants in all, and only the kernels these are of"
    )
    parser.add_argument("--seed", type=COUNT, default=0, help="which mutants are drawn (default 0)")
    parser.add_argument("--proofs", action="store_true", help="prove what the falsifier does not refute")


def run(args: argparse.Namespace) -> int:
    from agents.falsifier import oracle_of_specs
    from kshell import tasks, wiring
    from kshell.prover import LeanProver
    from kshell.tasks import reference

    started = time.monotonic()
    names = [wiring.task(name).name for name in args.tasks]
    oracle = oracle_of_specs(tasks.spec_of, reference.compute)
    study = Study(oracle, args.seconds, LeanProver() if args.proofs else None)
    outcomes: list[Outcome] = []
    complaints: list[str] = []
    kernels = 0
    chosen = list(originals(names, args.variants))
    for original, changed in zip(chosen, drawn(chosen, args.mutants, args.sample, args.seed), strict=True):
        if not changed and args.sample is not None:
            continue
        kernels += 1
        label = f"{original.task.name} {original.variant}"
        reason = study.refused_original(original)
        if reason:
            complaints.append(f"{label}: {reason}")
        mine = [study.outcome(original, m) for m in changed]
        outcomes += mine
        if not args.json:
            stages = Counter(o.stage for o in mine)
            print(f"{label:<36} {', '.join(f'{n} {stage}' for stage, n in stages.most_common())}", flush=True)
            for o in mine:
                if o.stage in ("escaped", "undecided"):
                    print(f"    {o.stage}: {o.mutant.rule} line {o.mutant.line}: {o.mutant.label}")
    study.close()
    summary = _summary(outcomes, complaints, kernels, args.proofs, time.monotonic() - started)
    print(json.dumps(summary) if args.json else _as_text(summary))
    return 0 if not complaints and summary["escaped"] == 0 else 1


def _summary(
    outcomes: list[Outcome], complaints: list[str], kernels: int, proofs: bool, seconds: float
) -> dict[str, Any]:
    stages = Counter(o.stage for o in outcomes)
    refused = sum(stages[s] for s in ("language", "falsifier", "proof"))
    return {
        "mutants": len(outcomes) - stages["equivalent"],
        "refused": refused,
        "escaped": stages["escaped"],
        "undecided": stages["undecided"],
        "originals": kernels,
        "originals_refused": len(complaints),
        "equivalent": stages["equivalent"],
        "refused_by_stage": {s: stages[s] for s in ("language", "falsifier", "proof")},
        "faults": dict(Counter(o.reason for o in outcomes if o.stage == "falsifier").most_common()),
        "by_rule": _by_rule(outcomes),
        "survivors": [_survivor(o) for o in outcomes if o.stage in ("escaped", "undecided")],
        "complaints": complaints,
        "proofs": proofs,
        "seconds": round(seconds, 1),
    }


def _by_rule(outcomes: list[Outcome]) -> dict[str, dict[str, int]]:
    rules = sorted({o.mutant.rule for o in outcomes})
    return {r: dict(Counter(o.stage for o in outcomes if o.mutant.rule == r)) for r in rules}


def _survivor(o: Outcome) -> dict[str, Any]:
    return {
        "stage": o.stage,
        "task": o.original.task.name,
        "variant": o.original.variant,
        "rule": o.mutant.rule,
        "line": o.mutant.line,
        "change": o.mutant.label,
        "reason": o.reason,
    }


def _as_text(summary: dict[str, Any]) -> str:
    stages = ", ".join(f"{n} by {stage}" for stage, n in summary["refused_by_stage"].items() if n)
    lines = [f"original refused: {text}" for text in summary["complaints"]]
    lines.append(
        f"{summary['mutants']} mutants of {summary['originals']} kernels: {summary['refused']} refused "
        f"({stages}), {summary['undecided']} undecided, {summary['escaped']} escaped; "
        f"{summary['equivalent']} equivalent; {summary['originals_refused']} originals refused; "
        f"{summary['seconds']:.0f} s"
    )
    if summary["undecided"]:
        lines.append("undecided: not refuted by the falsifier; only a proof could accept them (--proofs)")
    return "\n".join(lines)
