"""What the engine asks of a device and of a Lean toolchain."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from insights_db.records import (
    Candidate,
    Certificate,
    CompileResult,
    Obligation,
    ProfileResult,
    Proof,
    ValidationResult,
)
from semantics.task import Task, Workload


class Evaluator(Protocol):
    """Compile, validate and profile on one device. Each call can be cancelled (asyncio) at any moment
    and then leaves no process behind. `compile` also parses: a refusal is a failed compile whose
    diagnostics carry line, column, caret and reason."""

    device: str

    async def compile(self, candidate: Candidate, task: Task, workload: Workload) -> CompileResult: ...

    async def validate(
        self, candidate: Candidate, task: Task, workload: Workload, compiled: CompileResult
    ) -> ValidationResult: ...

    async def profile(
        self, candidate: Candidate, task: Task, workload: Workload, compiled: CompileResult
    ) -> ProfileResult: ...


class Prover(Protocol):
    """Closes equivalence proofs. `on_obligation` is called as each obligation closes or fails."""

    @property
    def checker(self) -> str:
        """The toolchain, as certificates name it."""
        ...

    async def prove(
        self,
        candidate: Candidate,
        task: Task,
        workload: Workload,
        on_obligation: Callable[[Obligation, int], None],
    ) -> Proof:
        """`on_obligation(obligation, total)`. Never raises for an unprovable kernel: says UNPROVEN or
        REFUSED with a reason."""
        ...

    def certificate(self, candidate: Candidate, task: Task, workload: Workload, proof: Proof) -> Certificate:
        """The certificate of a PROVEN proof. Raises ValueError otherwise."""
        ...


class Exporter(Protocol):
    """Writes a promoted kernel and its certificate to a folder and returns it."""

    def export(self, candidate: Candidate, certificate: Certificate, folder: Path) -> Path: ...
