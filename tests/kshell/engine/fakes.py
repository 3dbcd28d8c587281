"""Doubles for everything the engine talks to. Each call is written to a journal, so that a test, also
one whose session ran in a killed process, can see what was done and how often."""

import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from agents.protocols import GenerationContext, Proposal, Scored, Verdict
from insights_db.records import (
    Assumption,
    Candidate,
    Certificate,
    CompileResult,
    Counterexample,
    Insight,
    Obligation,
    ProfileResult,
    Proof,
    ProofStatus,
    ValidationResult,
)
from insights_db.store import Store
from kshell.engine.desk import Parts
from kshell.engine.session import Session
from kshell.engine.settings import Settings
from semantics.task import Roofline, Task, Tensor, Workload

TASK = Task(
    name="relu",
    title="relu",
    family="elementwise",
    axes={"n": 64},
    inputs=(Tensor(name="x", shape=("n",)),),
    outputs=(Tensor(name="y", shape=("n",)),),
    reference="",
    roofline=Roofline(flops="n", bytes="8*n"),
)


class Journal:
    """Lines `stage candidate`, kept in memory or appended to a file at once."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.lines: list[str] = []

    def write(self, stage: str, what: str) -> None:
        self.lines.append(f"{stage} {what}")
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(f"{stage} {what}\n")


def quality(candidate: Candidate) -> int:
    """A number the fakes decide by: it is the first integer in the source."""
    return int(candidate.source.split()[1])


class FakeGenerator:
    """Proposes `kernel NUMBER ROUND`; the numbers come from the context's seed and history alone."""

    name = "fake"

    def __init__(self, journal: Journal, wait: float = 0.0) -> None:
        self._journal, self._wait = journal, wait
        self.contexts: list[GenerationContext] = []

    async def propose(self, context: GenerationContext) -> list[Proposal]:
        self.contexts.append(context)
        self._journal.write("propose", str(context.round))
        await asyncio.sleep(self._wait)
        choice = random.Random(context.seed + len(context.history))
        best = max(context.history, key=lambda s: s.reward.value, default=None)
        return [
            Proposal(
                source=f"kernel {choice.randrange(1000)} round {context.round} place {place}",
                proposer="fake",
                parent=best.candidate.id if best else None,
                family="fake",
                strategy=f"draw {place}",
            )
            for place in range(context.group)
        ]


class FakeEvaluator:
    """`quality % 5 == 0` does not compile, `% 5 == 1` is wrong, the rest run in 1/quality seconds."""

    device = "cpu"

    def __init__(self, journal: Journal, wait: float = 0.0) -> None:
        self._journal, self._wait = journal, wait
        self.busy: Counter[str] = Counter()
        self.overlaps: Counter[str] = Counter()
        self.disturbed = False

    async def compile(self, candidate: Candidate, task: Task, workload: Workload) -> CompileResult:
        self._journal.write("compile", candidate.id)
        await self._work("compile")
        bad = quality(candidate) % 5 == 0
        return CompileResult(ok=not bad, diagnostics="1:1: no such thing\ncaret" if bad else "", seconds=0.5)

    async def validate(
        self, candidate: Candidate, task: Task, workload: Workload, compiled: CompileResult
    ) -> ValidationResult:
        self._journal.write("validate", candidate.id)
        await self._work("validate")
        wrong = quality(candidate) % 5 == 1
        return ValidationResult(ok=not wrong, reason="y[3] is off by 1" if wrong else "", seconds=0.2)

    async def profile(
        self, candidate: Candidate, task: Task, workload: Workload, compiled: CompileResult
    ) -> ProfileResult:
        self._journal.write("profile", candidate.id)
        await self._work("profile")
        speed = 1 + quality(candidate)
        return ProfileResult(
            ok=True, device="cpu", median_ms=1000 / speed, baseline_ms=1000.0, speedup=float(speed), samples=9
        )

    async def _work(self, stage: str) -> None:
        self.busy[stage] += 1
        self.overlaps[stage] = max(self.overlaps[stage], self.busy[stage])
        self.disturbed |= self.busy["profile"] > 0 and self.busy.total() > 1
        await asyncio.sleep(self._wait)
        self.busy[stage] -= 1


class FakeVerifier:
    """Breaks candidates with `quality % 7 == 0`."""

    name = "falsifier"

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def attack(self, candidate: Candidate, task: Task, workload: Workload) -> Verdict:
        self._journal.write("attack", candidate.id)
        broken = quality(candidate) % 7 == 0
        found = Counterexample(fault="RACE", message="two threads write shared[3]") if broken else None
        return Verdict("falsifier", found, 0.01, "12 launches")


class FakeProver:
    """Proves candidates with `quality % 3 == 0` in two obligations."""

    checker = "lean-fake"

    def __init__(self, journal: Journal, wait: float = 0.0) -> None:
        self._journal, self._wait = journal, wait

    def key(self, candidate: Candidate, task: Task, workload: Workload) -> str:
        return f"{task.name}/{candidate.id}"

    async def prove(
        self,
        candidate: Candidate,
        task: Task,
        workload: Workload,
        on_obligation: Callable[[Obligation, int], None],
    ) -> Proof:
        self._journal.write("prove", candidate.id)
        closed: list[Obligation] = []
        for name in ("safe", "equal"):
            await asyncio.sleep(self._wait)
            obligation = Obligation(name=name, title=f"{name} at every thread", status=ProofStatus.PROVEN)
            closed.append(obligation)
            on_obligation(obligation, 2)
        proven = quality(candidate) % 3 == 0
        return Proof(
            candidate=candidate.id,
            key=self.key(candidate, task, workload),
            status=ProofStatus.PROVEN if proven else ProofStatus.UNPROVEN,
            obligations=tuple(closed),
            statement="theorem kernel_ok : True",
            reason="" if proven else "the loop invariant was not found",
        )

    def certificate(self, candidate: Candidate, task: Task, workload: Workload, proof: Proof) -> Certificate:
        if proof.status is not ProofStatus.PROVEN:
            raise ValueError("not proven")
        return certificate(candidate, task, workload)


def certificate(candidate: Candidate, task: Task, workload: Workload) -> Certificate:
    """A certificate with the right source hash."""
    return Certificate(
        candidate=candidate.id,
        task=task.name,
        axes=workload.axes,
        source=candidate.source,
        source_hash=hashlib.sha256(candidate.source.encode()).hexdigest(),
        launch_hash="0" * 64,
        task_hash="1" * 64,
        spec_hash="2" * 64,
        package_hash="3" * 64,
        toolchain="lean-fake",
        checker="fake",
        statement="theorem kernel_ok : True",
        theorem="kernel_ok",
        axioms=("propext",),
        assumptions=(Assumption(kind="Trusted", part="real numbers", why="floats are not modelled"),),
        obligations=2,
        checked_at=datetime(2026, 1, 1, tzinfo=UTC),
        lean_file="theorem kernel_ok : True := trivial\n",
    )


def distill(before: Scored | None, after: Scored, task: Task, device: str) -> Insight | None:
    """An insight for every measured child of a measured parent."""
    if before is None or after.reward.value <= 0:
        return None
    change = after.reward.value - before.reward.value
    return Insight(
        strategy=after.candidate.strategy,
        family=task.family,
        device=device,
        before=before.candidate.id,
        after=after.candidate.id,
        change=change,
        effective=change > 0,
        sentence=f"{after.candidate.strategy} changed the reward by {change:g}",
    )


def export(
    candidate: Candidate, certificate: Certificate, task: Task, workload: Workload, folder: Path
) -> Path:
    """Writes the source and the certificate."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.cu").write_text(candidate.source)
    (folder / "certificate.json").write_text(certificate.model_dump_json())
    return folder


def parts(journal: Journal, wait: float = 0.0) -> Parts:
    """A full set of doubles."""
    return Parts(
        generator=FakeGenerator(journal, wait),
        evaluator=FakeEvaluator(journal, wait),
        verifiers=(FakeVerifier(journal),),
        prover=FakeProver(journal, wait),
        distill=distill,
        export=export,
    )


def replaced(made: Parts, **others: object) -> Parts:
    """The doubles with some replaced."""
    return replace(made, **others)


def chosen(**settings: object) -> Settings:
    """3 rounds of 4, seed 1, with some settings replaced."""
    return Settings.model_validate({"rounds": 3, "group": 4, "seed": 1, **settings})


def session(store: Store, folder: Path, made: Parts, name: str = "s", **settings: object) -> Session:
    """A session on the doubles."""
    return Session(
        store=store,
        name=name,
        task=TASK,
        workload=TASK.workload(),
        settings=chosen(**settings),
        parts=made,
        exports=folder / "exports",
    )
