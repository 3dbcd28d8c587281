"""The Lean prover: emits a file for a candidate, lets Lean check it, and reports each obligation."""

import asyncio
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from insights_db.records import Candidate, Certificate, Obligation, Proof, ProofStatus
from kshell.lean import package, toolchain
from kshell.lean.messages import Message
from kshell.lean.runner import Check, LeanRunner
from kshell.prover.assumptions import assumptions
from kshell.prover.axioms import AxiomReport, read_report, walk_file
from kshell.prover.keys import Subject, subject
from semantics.lean.file import MARK, Emission, Step
from semantics.lean.layout import emit
from semantics.span import Refusal
from semantics.symbolic.state import Unsupported
from semantics.task import Task, Workload

MODULE = "Candidate"
AXIOMS = "axioms.json"
SECONDS = 900.0
Report = Callable[[Obligation, int], None]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What Lean made of an emitted file."""

    obligations: tuple[Obligation, ...]
    axioms: AxiomReport | None
    check: Check

    @property
    def proven(self) -> bool:
        """Every obligation closed, a clean exit, and a finished walk that met only allowed axioms."""
        closed = all(o.status is ProofStatus.PROVEN for o in self.obligations)
        return (
            bool(self.obligations) and closed and self.check.ok and self.axioms is not None and self.axioms.ok
        )

    @property
    def reason(self) -> str:
        """One line saying why it is not proven; empty when it is."""
        if self.proven:
            return ""
        for obligation in self.obligations:
            if obligation.status is not ProofStatus.PROVEN:
                at = f"line {obligation.line}: " if obligation.line else ""
                why = f": {obligation.message.splitlines()[0]}" if obligation.message else ""
                return f"{at}{obligation.title}: not proved{why}"
        if self.axioms is not None and not self.axioms.ok:
            return self.axioms.reason
        return self.check.reason or "the check did not finish"


@dataclass(slots=True)
class LeanProver:
    """Implements `kshell.protocols.Prover` with the automatic prover. One proof at a time.

    `standby` keeps the next checker process ready, `fresh` proves again what was proven before."""

    standby: bool = False
    fresh: bool = False
    _runner: LeanRunner | None = field(default=None, repr=False)
    _subjects: dict[str, tuple[Subject, Emission]] = field(default_factory=dict, repr=False)

    @property
    def runner(self) -> LeanRunner:
        """The checker. Raises UserError when there is no Lean."""
        if self._runner is None:
            self._runner = LeanRunner(toolchain.find(), self.standby)
        return self._runner

    @property
    def checker(self) -> str:
        """The toolchain, as certificates name it."""
        return self.runner.toolchain.id

    def key(self, candidate: Candidate, task: Task, workload: Workload) -> str:
        """The key of the candidate's proof, before it is tried; empty when it cannot be emitted."""
        try:
            known, emission = self._emitted(candidate, task, workload)
        except (Refusal, Unsupported):
            return ""
        return known.key(self.checker, emission.text)

    async def prove(
        self, candidate: Candidate, task: Task, workload: Workload, on_obligation: Report
    ) -> Proof:
        """Prove one candidate at one workload. Never raises for an unprovable kernel."""
        started = time.monotonic()
        try:
            known, emission = await asyncio.to_thread(self._emitted, candidate, task, workload)
        except Refusal as refusal:
            return Proof(candidate=candidate.id, key="", status=ProofStatus.REFUSED, reason=str(refusal))
        except Unsupported as missing:
            at = f"line {missing.line}: " if missing.line else ""
            reason = f"{at}the automatic prover does not handle {missing.reason}"
            return Proof(candidate=candidate.id, key="", status=ProofStatus.UNPROVEN, reason=reason)
        key = known.key(self.checker, emission.text)
        folder = toolchain.store() / "proofs" / key
        kept = None if self.fresh else _kept(folder, key)
        if kept is not None:
            for obligation in kept.obligations:
                on_obligation(obligation, len(kept.obligations))
            return kept.model_copy(update={"candidate": candidate.id, "seconds": time.monotonic() - started})
        verdict = await check_emission(self.runner, emission, folder, on_obligation)
        if verdict.axioms is not None:
            (folder / AXIOMS).write_text(json.dumps(verdict.axioms.axioms), encoding="utf-8")
        proof = Proof(
            candidate=candidate.id,
            key=key,
            status=ProofStatus.PROVEN if verdict.proven else ProofStatus.UNPROVEN,
            obligations=verdict.obligations,
            statement=emission.statement,
            reason=verdict.reason,
            seconds=time.monotonic() - started,
            file=str(folder / f"{MODULE}.lean"),
        )
        if verdict.proven:
            _keep(folder, proof)
        return proof

    def certificate(self, candidate: Candidate, task: Task, workload: Workload, proof: Proof) -> Certificate:
        """The certificate of a PROVEN proof of this candidate. Raises ValueError otherwise."""
        if proof.status is not ProofStatus.PROVEN:
            raise ValueError(f"candidate {candidate.id} is {proof.status.value}, not proven")
        known, emission = self._emitted(candidate, task, workload)
        if proof.candidate != candidate.id or proof.key != known.key(self.checker, emission.text):
            raise ValueError(f"the proof is not of candidate {candidate.id} at these sizes with this checker")
        kept = toolchain.store() / "proofs" / proof.key / AXIOMS
        if not kept.is_file():
            raise ValueError(f"the axioms of the proof of {candidate.id} were not kept; prove it again")
        axioms = tuple(json.loads(kept.read_text(encoding="utf-8")))
        return make_certificate(candidate.id, known, emission, self.checker, axioms, len(proof.obligations))

    async def prepare(self) -> None:
        """Build the package and start a checker process that stands by."""
        await package.build(self.runner)
        await self.runner.prepare()

    async def close(self) -> None:
        """End the process that stands by."""
        if self._runner is not None:
            await self._runner.close()

    def _emitted(self, candidate: Candidate, task: Task, workload: Workload) -> tuple[Subject, Emission]:
        name = f"{candidate.id}\0{task.name}\0{sorted(workload.axes.items())}"
        if name not in self._subjects:
            self._subjects[name] = emitted(candidate.source, task, workload)
        return self._subjects[name]


def _kept(folder: Path, key: str) -> Proof | None:
    """A proof of this key that closed before. What is broken or of another key counts as absent."""
    try:
        proof = Proof.model_validate_json((folder / "proof.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    fits = proof.key == key and proof.status is ProofStatus.PROVEN and (folder / AXIOMS).is_file()
    return proof if fits else None


def _keep(folder: Path, proof: Proof) -> None:
    """Keep a proof that closed, whole or not at all."""
    part = folder / "proof.part"
    part.write_text(proof.model_dump_json(), encoding="utf-8")
    part.replace(folder / "proof.json")


def emitted(source: str, task: Task, workload: Workload) -> tuple[Subject, Emission]:
    """Parse a candidate and emit its file. Raises Refusal or Unsupported."""
    known = subject(source, task, workload)
    names = [tensor.name for tensor in task.inputs]
    try:
        return known, emit(source, known.plan, known.meaning, names, task.inplace)
    except RecursionError:
        raise Unsupported("a thread this long: too many statements in a row") from None


def make_certificate(
    name: str, known: Subject, emission: Emission, checker: str, axioms: tuple[str, ...], obligations: int
) -> Certificate:
    """The certificate of a subject whose emission was checked."""
    return Certificate(
        candidate=name,
        task=known.task.name,
        axes=known.workload.axes,
        source=known.source,
        source_hash=known.source_hash,
        launch_hash=known.launch_hash,
        task_hash=known.task_hash,
        spec_hash=known.spec_hash,
        package_hash=package.package_hash(),
        toolchain=(toolchain.package_root() / "lean-toolchain").read_text().strip(),
        checker=checker,
        statement=emission.statement,
        theorem=emission.theorem,
        axioms=axioms,
        assumptions=assumptions(),
        obligations=obligations,
        checked_at=datetime.now(UTC),
        lean_file=emission.text,
    )


async def check_emission(
    runner: LeanRunner, emission: Emission, folder: Path, on_obligation: Report | None = None
) -> Verdict:
    """Build the package, check the file in `folder` (emptied first), walk the axioms of its theorem."""
    tree = await package.build(runner)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source = folder / f"{MODULE}.lean"
    source.write_text(emission.text, encoding="utf-8")
    tracker = _Tracker(emission.steps, on_obligation)
    check = await runner.check(
        source, tree, output=source.with_suffix(".olean"), on_message=tracker.message, seconds=SECONDS
    )
    obligations = tracker.finish(check)
    if not check.ok or any(o.status is not ProofStatus.PROVEN for o in obligations):
        return Verdict(obligations, None, check)
    walk = folder / "Walk.lean"
    ours = package.names_in(tree)
    walk.write_text(walk_file([*ours, MODULE], [emission.theorem]), encoding="utf-8")
    walked = await runner.check(walk, tree, seconds=SECONDS)
    if not walked.ok:
        return Verdict(obligations, AxiomReport((), (), 0), walked)
    return Verdict(obligations, read_report(walked.lines), check)


class _Tracker:
    """Turns Lean's messages into obligations as they are decided."""

    def __init__(self, steps: tuple[Step, ...], report: Report | None) -> None:
        self.steps = steps
        self.report = report
        self.errors: dict[str, str] = {}
        self.decided: dict[str, Obligation] = {}
        self.started = time.monotonic()

    def message(self, message: Message) -> None:
        """One message of Lean, in the order of the file."""
        if message.severity == "information" and message.text.startswith(f"{MARK} "):
            self._closed(message.text.split(" ", 1)[1].strip())
        elif message.is_error or "sorry" in message.text:
            step = next((s for s in self.steps if s.first <= message.line <= s.last), None)
            if step is not None:
                self.errors.setdefault(step.name, message.text.strip())

    def _closed(self, name: str) -> None:
        step = next((s for s in self.steps if s.name == name), None)
        if step is not None and name not in self.decided:
            status = ProofStatus.UNPROVEN if name in self.errors else ProofStatus.PROVEN
            self._decide(step, status, self.errors.get(name, ""))

    def finish(self, check: Check) -> tuple[Obligation, ...]:
        """All obligations; those Lean never came to are unproven."""
        if not check.ok:
            for name, text in self.errors.items():
                known = self.decided.get(name)
                if known is not None and known.status is ProofStatus.PROVEN:
                    self.decided[name] = known.model_copy(
                        update={"status": ProofStatus.UNPROVEN, "message": text}
                    )
        for step in self.steps:
            if step.name not in self.decided:
                why = self.errors.get(step.name) or f"not reached: {check.reason or 'Lean stopped'}"
                self._decide(step, ProofStatus.UNPROVEN, why)
        return tuple(self.decided[step.name] for step in self.steps)

    def _decide(self, step: Step, status: ProofStatus, message: str) -> None:
        now = time.monotonic()
        obligation = Obligation(
            name=step.name,
            title=step.title,
            status=status,
            line=step.source_line,
            seconds=now - self.started,
            message=message,
        )
        self.started = now
        self.decided[step.name] = obligation
        if self.report is not None:
            self.report(obligation, len(self.steps))
