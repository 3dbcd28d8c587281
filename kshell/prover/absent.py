"""What stands in for the prover on a machine without Lean, such as a bare GPU host."""

from dataclasses import dataclass

from insights_db.records import Candidate, Certificate, Proof, ProofStatus
from kshell.prover.checking import Report
from semantics.task import Task, Workload


@dataclass(frozen=True, slots=True)
class AbsentProver:
    """Implements `kshell.protocols.Prover` by proving nothing. `missing` is why, in one line: a session
    says it at its start and at its end, and tries no proof, so that `kshell prove` can try all later."""

    missing: str
    checker: str = "none"

    async def prove(
        self, candidate: Candidate, task: Task, workload: Workload, on_obligation: Report
    ) -> Proof:
        """UNPROVEN, with the reason."""
        return Proof(candidate=candidate.id, key="", status=ProofStatus.UNPROVEN, reason=self.missing)

    def certificate(self, candidate: Candidate, task: Task, workload: Workload, proof: Proof) -> Certificate:
        """Raises ValueError: nothing is proven here."""
        raise ValueError(self.missing)
