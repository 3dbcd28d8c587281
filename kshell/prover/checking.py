"""What Lean makes of an emitted file: theorem by theorem, and the axioms of the last one.

Two ways: in two processes started for it (`check_emission`, what an audit does), or in a process that has
the package loaded and walked beforehand (`check_resident`, what a session does: the same elaborator and
kernel, some twenty seconds sooner)."""

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from insights_db.records import Obligation, ProofStatus
from kshell.errors import UserError
from kshell.lean import package
from kshell.lean.messages import Message
from kshell.lean.resident import Resident, body_of
from kshell.lean.runner import Check, LeanRunner
from kshell.prover.axioms import (
    RESIDENT_IMPORTS,
    AxiomReport,
    package_walk_file,
    read_report,
    resident_file,
    walk_file,
)
from semantics.lean.file import MARK, Emission, Step

MODULE = "Candidate"
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


async def package_axioms(runner: LeanRunner) -> AxiomReport:
    """The walk over every constant of the built package, kept beside it. Raises UserError when it finds
    what no proof may rest on: then the installation is broken."""
    tree = await package.build(runner)
    kept = tree / "axioms.json"
    try:
        axioms, visited = json.loads(kept.read_text(encoding="utf-8"))
        return AxiomReport(tuple(axioms), (), int(visited))
    except (OSError, ValueError, TypeError):
        pass
    folder = tree.with_name(f"{tree.name}.walk")
    folder.mkdir(parents=True, exist_ok=True)
    walk = folder / "Walk.lean"
    walk.write_text(package_walk_file(package.names_in(tree)), encoding="utf-8")
    walked = await runner.check(walk, tree, seconds=SECONDS)
    found = read_report(walked.lines) if walked.ok else AxiomReport((), (), 0)
    shutil.rmtree(folder, ignore_errors=True)
    if not found.ok:
        raise UserError(f"lean/: {found.reason}: {walked.reason or 'see kshell lean build'}")
    part = kept.with_suffix(".part")
    part.write_text(json.dumps([found.axioms, found.visited]), encoding="utf-8")
    part.replace(kept)
    return found


async def resident(runner: LeanRunner) -> Resident:
    """The process for `check_resident`, not started yet. Builds and walks the package when needed."""
    tree = await package.build(runner)
    await package_axioms(runner)
    return Resident(runner, resident_file(), tree)


async def check_resident(
    checker: Resident, emission: Emission, folder: Path, on_obligation: Report | None = None
) -> Verdict:
    """Check the file in the resident process; it is kept in `folder` (emptied first)."""
    package_report = await package_axioms(checker.runner)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / f"{MODULE}.lean").write_text(emission.text, encoding="utf-8")
    tracker = _Tracker(emission.steps, on_obligation)
    text = body_of(emission.text, RESIDENT_IMPORTS)
    check = await checker.check(text, emission.theorem, on_message=tracker.message, seconds=SECONDS)
    obligations = tracker.finish(check)
    if not check.ok or any(o.status is not ProofStatus.PROVEN for o in obligations):
        return Verdict(obligations, None, check)
    own = read_report(check.lines)
    axioms = tuple(dict.fromkeys((*own.axioms, *package_report.axioms)))
    return Verdict(obligations, AxiomReport(axioms, own.objections, own.visited), check)


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
