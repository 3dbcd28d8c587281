"""The prover of a session with proof agents: the automatic prover first, agents over what it leaves open."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agents.llm.failures import LLMFailure
from agents.llm.ledger import CapReached, PriceUnknown
from agents.llm.memory import Memory
from agents.llm.proving import Case, Found, Probe, ProofAgents, Ruling
from agents.protocols import Verifier
from insights_db.records import Candidate, Certificate, Counterexample, Obligation, Proof, ProofStatus
from kshell.lean import toolchain
from kshell.prover import agent_proof
from kshell.prover.checking import Report
from kshell.prover.draft import draft_of
from kshell.prover.keys import Subject
from kshell.prover.prover import LeanProver
from kshell.prover.submission import Statement
from semantics.lean.file import Emission
from semantics.span import Refusal
from semantics.symbolic.state import Unsupported
from semantics.task import Task, Workload

_ADVICE = 4000


@dataclass(slots=True)
class TeamProver:
    """Implements `kshell.protocols.Prover`. `probes` are verifiers that look into a suspicion."""

    automatic: LeanProver
    agents: ProofAgents
    probes: tuple[Verifier, ...] = ()

    @property
    def checker(self) -> str:
        """The toolchain, as certificates name it."""
        return self.automatic.checker

    def remember(self, memory: Memory) -> None:
        """Keep every answer in `memory` before it is used."""
        self.agents.remember(memory)

    async def close(self) -> None:
        """End the process that checks proofs."""
        await self.automatic.close()

    def key(self, candidate: Candidate, task: Task, workload: Workload) -> str:
        """The automatic prover's key, or that of the statement where it has no proof to offer."""
        key = self.automatic.key(candidate, task, workload)
        if key:
            return key
        try:
            known, statement = agent_proof.stated(candidate.source, task, workload)
        except (Refusal, Unsupported):
            return ""
        return known.key(self.checker, statement.text)

    async def prove(
        self, candidate: Candidate, task: Task, workload: Workload, on_obligation: Report
    ) -> Proof:
        """Prove one candidate. Never raises for an unprovable kernel."""
        started = time.monotonic()
        proof = await self.automatic.prove(candidate, task, workload, on_obligation)
        if proof.status is not ProofStatus.UNPROVEN:
            return proof
        try:
            known, statement = await asyncio.to_thread(agent_proof.stated, candidate.source, task, workload)
        except (Refusal, Unsupported):
            return proof
        folder = self._folder(known, statement)
        emission = self.automatic.emission(candidate, task, workload)
        case = _case(candidate, task, statement, proof, emission)

        async def judge(text: str) -> Ruling:
            said = await agent_proof.judged(self.automatic.runner, statement, text, folder)
            return Ruling(said.accepted, f"{said.layer}: {said.reason}\n{said.details}".strip()[:_ADVICE])

        try:
            known_text = agent_proof.kept(folder)
            found = Found(text=known_text[0]) if known_text else None
            found = found or await self.agents.close(case, judge, self._probe(candidate, task, workload))
        except (LLMFailure, CapReached, PriceUnknown) as error:
            reason = f"{proof.reason}; proof agents stopped: {error}"
            return proof.model_copy(update={"reason": reason, "seconds": time.monotonic() - started})
        done = self._outcome(proof, known, statement, found, on_obligation)
        return done.model_copy(update={"seconds": time.monotonic() - started})

    def _outcome(
        self, proof: Proof, known: Subject, statement: Statement, found: Found, on_obligation: Report
    ) -> Proof:
        if found.counterexample is not None:
            example = found.counterexample
            reason = f"refuted: {example.fault}: {example.message}"
            return proof.model_copy(
                update={
                    "status": ProofStatus.REFUTED,
                    "prover": self.agents.name,
                    "reason": reason,
                    "counterexample": example,
                }
            )
        if not found.text:
            reason = f"{proof.reason}; {found.reason}"
            return proof.model_copy(update={"prover": self.agents.name, "reason": reason})
        obligation = Obligation(
            name="submission", title="the launch is correct, by an agent's proof", status=ProofStatus.PROVEN
        )
        on_obligation(obligation, 1)
        return Proof(
            candidate=proof.candidate,
            key=known.key(self.checker, statement.text),
            status=ProofStatus.PROVEN,
            obligations=(obligation,),
            statement=statement.text,
            file=str(self._folder(known, statement) / agent_proof.TEXT),
            prover=self.agents.name,
        )

    def certificate(self, candidate: Candidate, task: Task, workload: Workload, proof: Proof) -> Certificate:
        """The certificate of a PROVEN proof of this candidate. Raises ValueError otherwise."""
        if proof.prover == "automatic":
            return self.automatic.certificate(candidate, task, workload, proof)
        if proof.status is not ProofStatus.PROVEN:
            raise ValueError(f"candidate {candidate.id} is {proof.status.value}, not proven")
        known, statement = agent_proof.stated(candidate.source, task, workload)
        if proof.candidate != candidate.id or proof.key != known.key(self.checker, statement.text):
            raise ValueError(f"the proof is not of candidate {candidate.id} at these sizes with this checker")
        found = agent_proof.kept(self._folder(known, statement))
        if found is None:
            raise ValueError(f"the proof text of {candidate.id} was not kept; prove it again")
        text, axioms = found
        return agent_proof.certified(candidate.id, known, statement, text, axioms, self.checker)

    def _folder(self, known: Subject, statement: Statement) -> Path:
        return toolchain.store() / "submissions" / known.key(self.checker, statement.text)

    def _probe(self, candidate: Candidate, task: Task, workload: Workload) -> Probe:
        async def probe(suspicion: str) -> Counterexample | None:
            for verifier in self.probes:
                attack: Callable[..., object] = verifier.attack
                told = {"suspicion": suspicion[:500]} if verifier.name == "llm-verifier" else {}
                verdict = await attack(candidate, task, workload, **told)  # type: ignore[misc]
                if verdict.counterexample is not None:
                    found: Counterexample = verdict.counterexample
                    return found
            return None

        return probe


def _case(
    candidate: Candidate, task: Task, statement: Statement, proof: Proof, emission: Emission | None
) -> Case:
    """What the agents are given: nothing but our own texts and Lean's messages."""
    still_open = [
        f"- line {o.line}: {o.title}: {' '.join(o.message.split())[:600]}"
        for o in proof.obligations
        if o.status is not ProofStatus.PROVEN
    ]
    return Case(
        candidate=candidate.id,
        source=candidate.source,
        task=task,
        statement=statement.text,
        proposition=statement.proposition,
        draft=draft_of(emission, proof.obligations) if emission is not None else None,
        stuck="\n".join(still_open[:8]) or proof.reason,
    )
