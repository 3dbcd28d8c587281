"""The Lean prover: emits a file for a candidate, lets Lean check it, and reports each obligation."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

from insights_db.records import Candidate, Certificate, Proof, ProofStatus
from kshell.lean import package, toolchain
from kshell.lean.resident import Resident
from kshell.lean.runner import LeanRunner
from kshell.prover.certify import Claim, certify
from kshell.prover.checking import MODULE, Report, Verdict, check_emission, check_resident, resident
from kshell.prover.keys import Subject, subject
from semantics.lean.file import Emission
from semantics.lean.layout import emit
from semantics.span import Refusal
from semantics.symbolic.state import Unsupported
from semantics.task import Task, Workload

AXIOMS = "axioms.json"


@dataclass(slots=True)
class LeanProver:
    """Implements `kshell.protocols.Prover` with the automatic prover. One proof at a time.

    On the embedded build one process checks proof after proof until `close`; an installed Lean starts fast
    enough to be started for each. `fresh` proves again what was proven before; provers of different
    `slot` check at the same time."""

    fresh: bool = False
    slot: int = 0
    _runner: LeanRunner | None = field(default=None, repr=False)
    _resident: Resident | None = field(default=None, repr=False)
    _subjects: dict[str, tuple[Subject, Emission]] = field(default_factory=dict, repr=False)

    @property
    def runner(self) -> LeanRunner:
        """The checker. Raises UserError when there is no Lean."""
        if self._runner is None:
            self._runner = LeanRunner(toolchain.find(), self.slot)
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

    def emission(self, candidate: Candidate, task: Task, workload: Workload) -> Emission | None:
        """The file that is checked for a candidate; None when it cannot be emitted."""
        try:
            return self._emitted(candidate, task, workload)[1]
        except (Refusal, Unsupported):
            return None

    def kept(self, key: str) -> Proof | None:
        """The proof of this key when it closed before; what is broken counts as absent. None when `fresh`."""
        folder = toolchain.store() / "proofs" / key
        try:
            proof = Proof.model_validate_json((folder / "proof.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        fits = proof.key == key and proof.status is ProofStatus.PROVEN and (folder / AXIOMS).is_file()
        return proof if fits and not self.fresh else None

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
        kept = self.kept(key)
        if kept is not None:
            for obligation in kept.obligations:
                on_obligation(obligation, len(kept.obligations))
            return kept.model_copy(update={"candidate": candidate.id, "seconds": time.monotonic() - started})
        verdict = await self._checked(emission, folder, on_obligation)
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
        """Build the package and, on the embedded build, start the process that checks proofs."""
        if self.runner.toolchain.kind is toolchain.Kind.EMBEDDED:
            self._resident = self._resident or await resident(self.runner)
            await self._resident.prepare()
        else:
            await package.build(self.runner)

    async def close(self) -> None:
        """End the process that checks proofs."""
        if self._resident is not None:
            await self._resident.close()
        if self._runner is not None:
            await self._runner.close()

    async def _checked(self, emission: Emission, folder: Path, on_obligation: Report) -> Verdict:
        await self.prepare()
        if self._resident is None:
            return await check_emission(self.runner, emission, folder, on_obligation)
        return await check_resident(self._resident, emission, folder, on_obligation)

    def _emitted(self, candidate: Candidate, task: Task, workload: Workload) -> tuple[Subject, Emission]:
        name = f"{candidate.id}\0{task.name}\0{sorted(workload.axes.items())}"
        if name not in self._subjects:
            self._subjects[name] = emitted(candidate.source, task, workload)
        return self._subjects[name]


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
    claim = Claim(emission.statement, emission.theorem, emission.text)
    return certify(name, known, claim, checker, axioms, obligations)
