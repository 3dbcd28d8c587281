"""Proofs that agents find: the statement is ours, the text is theirs, the judge decides, and a certificate
holds both so that anyone can judge it again."""

import json
import shutil
from pathlib import Path

from insights_db.records import Certificate
from kshell.lean import package, toolchain
from kshell.lean.runner import LeanRunner
from kshell.prover.audit import Audit, Finding, basics
from kshell.prover.certify import Claim, certify
from kshell.prover.keys import Subject, subject
from kshell.prover.submission import VERDICT, Judgement, Statement, judge
from semantics.lean.kernel import SETUP
from semantics.lean.layout import statement_text
from semantics.span import Refusal
from semantics.symbolic.state import Unsupported
from semantics.task import Task, Workload

_OPENS = "KShell KShell.Auto KShell.Candidate ExactReal Lean.Grind"
SEPARATOR = "\n-- The proof: a module of its own that imports the statement above.\n"
TEXT, AXIOMS = "proof.txt", "axioms.json"


def stated(source: str, task: Task, workload: Workload) -> tuple[Subject, Statement]:
    """The subject and the statement of a candidate. Raises Refusal, and Unsupported for a launch whose
    correctness has no statement yet."""
    known = subject(source, task, workload)
    if len(known.plan.calls) != 1:
        raise Unsupported("a sequence of kernels", known.plan.calls[1].span.line)
    names = [tensor.name for tensor in task.inputs]
    text, proposition = statement_text(source, known.plan, known.meaning, names, task.inplace)
    return known, Statement(text, proposition, _OPENS, SETUP)


async def judged(runner: LeanRunner, statement: Statement, text: str, folder: Path) -> Judgement:
    """Judge a proof text in a folder of its own; an accepted one is kept there. A statement that was
    compiled for an earlier text is used again."""
    tree = await package.build(runner)
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.iterdir():
        if stale.is_dir():
            shutil.rmtree(stale)
        elif not stale.name.startswith("Statement."):
            stale.unlink()
    ruling = await judge(runner, tree, folder, statement, text)
    if ruling.accepted:
        (folder / AXIOMS).write_text(json.dumps(ruling.axioms), encoding="utf-8")
        (folder / TEXT).write_text(text, encoding="utf-8")
    return ruling


def kept(folder: Path) -> tuple[str, tuple[str, ...]] | None:
    """The text and the axioms of a proof that was accepted in a folder."""
    try:
        axioms = json.loads((folder / AXIOMS).read_text(encoding="utf-8"))
        return (folder / TEXT).read_text(encoding="utf-8"), tuple(axioms)
    except (OSError, ValueError):
        return None


def certified(
    name: str, known: Subject, statement: Statement, text: str, axioms: tuple[str, ...], checker: str
) -> Certificate:
    """The certificate of an accepted text."""
    claim = Claim(statement.text, VERDICT, f"{statement.text}{SEPARATOR}{text}")
    return certify(name, known, claim, checker, axioms, 1)


def compare_agent_proof(
    certificate: Certificate, task: Task
) -> tuple[list[Finding], tuple[Subject, Statement] | None]:
    """Everything about a certificate of an agent's proof that needs no Lean; the statement made afresh."""
    findings = basics(certificate, task)
    if not all(finding.ok for finding in findings):
        return findings, None
    try:
        known, statement = stated(certificate.source, task, Workload(axes=certificate.axes))
    except (Refusal, Unsupported) as problem:
        return [*findings, Finding("source is parsed and stated again", False, str(problem))], None
    head = f"{statement.text}{SEPARATOR}"
    findings += [
        _same("launch", known.launch_hash == certificate.launch_hash, "the launch is another one"),
        _same("task text", known.task_hash == certificate.task_hash, "the task has changed since"),
        _same("spec", known.spec_hash == certificate.spec_hash, "the spec of the task is another one"),
        _same("statement", statement.text == certificate.statement, "it is not the one of this source"),
        _same("definitions", certificate.lean_file.startswith(head), "the Lean file states something else"),
        _same("obligations", certificate.obligations == 1, "an agent's proof has one theorem"),
    ]
    return findings, (known, statement)


async def audit_agent_proof(certificate: Certificate, task: Task, runner: LeanRunner) -> Audit:
    """Judge the proof text of a certificate again, layer by layer, against a statement made afresh."""
    findings, remade = compare_agent_proof(certificate, task)
    checker = runner.toolchain.id
    if remade is None or not all(finding.ok for finding in findings):
        return Audit(tuple(findings), checker)
    known, statement = remade
    text = certificate.lean_file.removeprefix(f"{statement.text}{SEPARATOR}")
    folder = toolchain.store() / "audits" / known.key(checker, text)
    shutil.rmtree(folder, ignore_errors=True)
    ruling = await judged(runner, statement, text, folder)
    findings.append(
        _same("Lean accepts the proof again", ruling.accepted, f"{ruling.layer}: {ruling.reason}")
    )
    return Audit(tuple(findings), checker)


def _same(name: str, ok: bool, detail: str) -> Finding:
    return Finding(name, ok, "" if ok else detail)
