"""Judging a proof text by an agent: apart from the statement, layer by layer.

The statement is a module of ours. The submission is text for a module of its own that imports it and
must declare `Submission.proof`; it never reaches the statement. The layers, in order: the token
allowlist, elaboration in a limited process, our own theorem of exactly our statement that the
submission's proof must inhabit, and the axiom walk over everything that theorem rests on.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kshell.lean.package import names_in
from kshell.lean.runner import Check, LeanRunner
from kshell.prover.allowlist import first_objection
from kshell.prover.axioms import read_report, walk_file

MAX_CHARACTERS = 400_000
STATEMENT = "Statement"
SUBMISSION = "Submission"
VERDICT = "KShellVerdict.verified"


class Layer(StrEnum):
    """The layer that decided."""

    TOKENS = "tokens"
    ELABORATION = "elaboration"
    RESOURCES = "resources"
    STATEMENT = "statement"
    AXIOMS = "axioms"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a submission; `reason` is one line, empty when accepted; `details` is what Lean said of
    its first errors, with the theorems they stand in."""

    layer: Layer
    reason: str = ""
    axioms: tuple[str, ...] = ()
    details: str = ""

    @property
    def accepted(self) -> bool:
        """Every layer passed."""
        return self.layer is Layer.ACCEPTED


@dataclass(frozen=True, slots=True)
class Statement:
    """Our side: the text of module `Statement`, the name of the proposition it defines, the namespaces that
    are open in the module of a submission, and further lines before its text."""

    text: str
    proposition: str
    opens: str = "KShell"
    setup: tuple[str, ...] = ()


def submission_module(text: str, opens: str = "KShell", setup: Sequence[str] = ()) -> str:
    """The module around an agent's text."""
    lines = "".join(f"{line}\n" for line in setup)
    header = (
        f"module\npublic import KShell.Auto\npublic import {STATEMENT}\n"
        "public section\nnoncomputable section\nnamespace Submission\n"
        f"open {opens}\n{lines}"
        "variable {R : Type} [ExactReal R]\n"
    )
    return f"{header}{text}\nend Submission\nend\nend\n"


def verdict_module(proposition: str, package: Sequence[str] = ()) -> str:
    """Our theorem over their proof, and the walk from it. `package` are the modules of the proof package,
    whose proofs the walk follows too: without their terms every lemma of ours looks like an axiom."""
    walk = walk_file([*package, STATEMENT, SUBMISSION], [VERDICT])
    theorem = f"theorem {VERDICT} : {proposition} := Submission.proof\n"
    # The theorem is private to its module: a resolved name finds it.
    walk = walk.replace(f"[`{VERDICT}]", f"[``{VERDICT}]")
    head, mark, run = walk.rpartition("#eval!")
    return f"{head}{theorem}{mark}{run}"


async def judge(
    runner: LeanRunner,
    package: Path,
    folder: Path,
    statement: Statement,
    text: str,
    *,
    seconds: float = 300.0,
    memory_mb: int = 3072,
) -> Judgement:
    """Judge `text` in `folder` (ours alone, emptied by the caller). `package` is the built package.

    The process that elaborates the text has limits of time and memory, no network and no other programs,
    and may write into a folder of its own only, as far as the machine can enforce it (see `confine`).

    Raises RuntimeError when our own statement does not compile: that is no fault of the submission."""
    if len(text) > MAX_CHARACTERS:
        return Judgement(Layer.TOKENS, f"the text has more than {MAX_CHARACTERS} characters")
    objection = first_objection(text)
    if objection is not None:
        return Judgement(Layer.TOKENS, str(objection))
    await _compile_statement(runner, package, folder, statement)
    theirs = folder / f"{SUBMISSION}.lean"
    theirs.write_text(submission_module(text, statement.opens, statement.setup), encoding="utf-8")
    check = await _elaborate(runner, package, theirs, seconds, memory_mb)
    if not check.ok:
        return Judgement(_failure_layer(check), check.reason, details=_details(check, theirs))
    if any("sorry" in m.text for m in check.messages):
        return Judgement(Layer.ELABORATION, "the proof has a gap")
    ours = folder / "Verdict.lean"
    ours.write_text(verdict_module(statement.proposition, names_in(package)), encoding="utf-8")
    verdict = await runner.check(ours, package, seconds=seconds, memory_mb=memory_mb, writable=())
    if not verdict.ok:
        return Judgement(Layer.STATEMENT, f"the proof is not of the statement: {verdict.reason}")
    report = read_report(verdict.lines)
    if not report.ok:
        return Judgement(Layer.AXIOMS, report.reason, report.axioms)
    return Judgement(Layer.ACCEPTED, axioms=report.axioms)


async def _elaborate(
    runner: LeanRunner, package: Path, theirs: Path, seconds: float, memory_mb: int
) -> Check:
    """Check the submission's module. It may write into a folder of its own, from where its compiled form is
    taken when it has ended; the compiled statement beside the source is out of its reach."""
    made = theirs.parent / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    try:
        output = made / f"{theirs.stem}.olean"
        check = await runner.check(
            theirs, package, output=output, seconds=seconds, memory_mb=memory_mb, writable=(made,)
        )
        if check.ok:
            for part in made.glob(f"{theirs.stem}.*"):
                part.replace(theirs.with_name(part.name))
        return check
    finally:
        shutil.rmtree(made, ignore_errors=True)


async def _compile_statement(runner: LeanRunner, package: Path, folder: Path, statement: Statement) -> None:
    source = folder / f"{STATEMENT}.lean"
    compiled = source.with_suffix(".olean").exists()
    if compiled and source.read_text(encoding="utf-8") == statement.text:
        return
    source.write_text(statement.text, encoding="utf-8")
    check = await runner.check(source, package, output=source.with_suffix(".olean"))
    if not check.ok:
        raise RuntimeError(f"the statement does not compile: {check.reason}")


def _details(check: Check, file: Path) -> str:
    """The first errors, each with the theorem and the line it stands in."""
    lines = file.read_text(encoding="utf-8").splitlines()
    said = []
    for error in check.errors[:3]:
        above = [line for line in lines[: error.line] if line.startswith(("theorem ", "def "))]
        name = above[-1].split()[1] if above else "the text"
        line = lines[error.line - 1].strip() if 0 < error.line <= len(lines) else ""
        said.append(f"in {name}, at `{line[:160]}`:\n{error.text[:1200]}")
    return "\n".join(said)


def _failure_layer(check: Check) -> Layer:
    exhausted = check.timed_out or (check.status != 0 and not check.errors)
    limits = ("maximum number of heartbeats", "maximum recursion depth", "out of memory", "deep recursion")
    said = any(limit in m.text for m in check.errors for limit in limits)
    return Layer.RESOURCES if exhausted or said else Layer.ELABORATION
