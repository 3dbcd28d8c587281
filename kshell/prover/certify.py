"""Certificates: what was proved, of which source, with which checker, under which assumptions."""

from dataclasses import dataclass
from datetime import UTC, datetime

from insights_db.records import Certificate
from kshell.lean import package, toolchain
from kshell.prover.assumptions import assumptions
from kshell.prover.keys import Subject


@dataclass(frozen=True, slots=True)
class Claim:
    """What was proved: the statement as a person reads it, the theorem's name, the whole Lean text."""

    statement: str
    theorem: str
    lean_file: str


def certify(
    name: str, known: Subject, claim: Claim, checker: str, axioms: tuple[str, ...], obligations: int
) -> Certificate:
    """The certificate of candidate `name`, whose claim was checked in `obligations` theorems."""
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
        statement=claim.statement,
        theorem=claim.theorem,
        axioms=axioms,
        assumptions=assumptions(),
        obligations=obligations,
        checked_at=datetime.now(UTC),
        lean_file=claim.lean_file,
    )
