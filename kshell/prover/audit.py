"""Auditing a certificate: everything in it is made again from its source, then Lean checks it again."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from insights_db.records import Certificate
from kshell.errors import UserError
from kshell.lean import package, toolchain
from kshell.lean.runner import LeanRunner
from kshell.prover.assumptions import assumptions
from kshell.prover.axioms import ALLOWED
from kshell.prover.checking import Report, check_emission
from kshell.prover.keys import Subject, sha256
from kshell.prover.prover import emitted
from kshell.prover.submission import VERDICT as SUBMITTED
from semantics.lean.file import Emission
from semantics.span import Refusal
from semantics.symbolic.state import Unsupported
from semantics.task import Task, Workload


@dataclass(frozen=True, slots=True)
class Finding:
    """One comparison of the audit; `detail` is one line, empty when it is `ok`."""

    name: str
    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Audit:
    """The outcome: every comparison, and who checked."""

    findings: tuple[Finding, ...]
    checker: str
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return bool(self.findings) and all(finding.ok for finding in self.findings)

    @property
    def reason(self) -> str:
        """What failed first; empty when nothing did."""
        return next((f"{one.name}: {one.detail}" for one in self.findings if not one.ok), "")


def read_certificate(path: Path) -> Certificate:
    """The certificate in a file. Raises UserError saying what is wrong with the file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text") from None
    try:
        return Certificate.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"])) or "the file"
        raise UserError(f"{path}: not a certificate of this version: {at}: {first['msg']}") from None


async def audit(
    certificate: Certificate, task: Task, runner: LeanRunner, on_obligation: Report | None = None
) -> Audit:
    """Check a certificate from nothing. `task` is ours, by the certificate's name; nothing of the
    certificate but its source and sizes goes into what Lean checks."""
    if certificate.theorem == SUBMITTED:
        from kshell.prover.agent_proof import audit_agent_proof

        return await audit_agent_proof(certificate, task, runner)
    findings, remade = compare(certificate, task)
    if remade is None or not all(finding.ok for finding in findings):
        return Audit(tuple(findings), runner.toolchain.id)
    known, emission = remade
    folder = toolchain.store() / "audits" / known.key(runner.toolchain.id, emission.text)
    verdict = await check_emission(runner, emission, folder, on_obligation)
    findings.append(Finding("Lean closes the proof again", verdict.proven, verdict.reason))
    found = verdict.axioms.axioms if verdict.axioms is not None else ()
    extra = [axiom for axiom in found if axiom not in ALLOWED]
    findings.append(_finding("axioms", not extra, f"the proof rests on {', '.join(extra)}"))
    same = len(verdict.obligations) == certificate.obligations
    findings.append(
        _finding(
            "obligations",
            same,
            f"{len(verdict.obligations)} theorems, the certificate says {certificate.obligations}",
        )
    )
    return Audit(tuple(findings), runner.toolchain.id, verdict.check.seconds)


def without_lean(certificate: Certificate, task: Task) -> list[Finding]:
    """What an audit finds before it asks Lean."""
    if certificate.theorem == SUBMITTED:
        from kshell.prover.agent_proof import compare_agent_proof

        return compare_agent_proof(certificate, task)[0]
    return compare(certificate, task)[0]


def compare(certificate: Certificate, task: Task) -> tuple[list[Finding], tuple[Subject, Emission] | None]:
    """Everything that needs no Lean: hashes, statement, definitions, assumptions."""
    findings = basics(certificate, task)
    if not all(finding.ok for finding in findings):
        return findings, None
    try:
        known, emission = emitted(certificate.source, task, Workload(axes=certificate.axes))
    except (Refusal, Unsupported) as problem:
        return [*findings, Finding("source is parsed and emitted again", False, str(problem))], None
    findings += [
        _finding(
            "launch", known.launch_hash == certificate.launch_hash, "the launch is not the one of this source"
        ),
        _finding("task text", known.task_hash == certificate.task_hash, "the task has changed since"),
        _finding("spec", known.spec_hash == certificate.spec_hash, "the spec of the task is another one"),
        _finding(
            "statement",
            emission.statement == certificate.statement,
            "the statement is not the one of this source",
        ),
        _finding("theorem", emission.theorem == certificate.theorem, "it names another theorem"),
        _finding(
            "definitions",
            emission.text == certificate.lean_file,
            "the Lean file is not the one of this source",
        ),
    ]
    return findings, (known, emission)


def basics(certificate: Certificate, task: Task) -> list[Finding]:
    """What does not depend on how the proof was found: version, task, source, sizes, package, lists."""
    return [
        _finding("version", certificate.version == 1, f"version {certificate.version} is not known here"),
        _finding(
            "task", certificate.task == task.name, f"it is about {certificate.task!r}, not {task.name!r}"
        ),
        _finding(
            "source",
            sha256(certificate.source) == certificate.source_hash,
            "the source is not the one that was hashed",
        ),
        _finding(
            "candidate",
            certificate.source_hash.startswith(certificate.candidate) and len(certificate.candidate) == 12,
            "the candidate's id is not the hash of the source",
        ),
        _finding(
            "sizes",
            set(certificate.axes) == set(task.axes) and all(n > 0 for n in certificate.axes.values()),
            f"the axes are {', '.join(sorted(certificate.axes))}, the task's are "
            f"{', '.join(sorted(task.axes))}",
        ),
        _finding(
            "package",
            certificate.package_hash == package.package_hash(),
            "it was proved with another version of the Lean package; prove the source again with this one",
        ),
        _finding(
            "assumptions",
            certificate.assumptions == assumptions(),
            "the list of assumptions is not the one this version states",
        ),
        _finding(
            "axioms listed",
            set(certificate.axioms) <= set(ALLOWED),
            f"it lists {', '.join(sorted(set(certificate.axioms) - set(ALLOWED)))}",
        ),
    ]


def _finding(name: str, ok: bool, detail: str) -> Finding:
    return Finding(name, ok, "" if ok else detail)
