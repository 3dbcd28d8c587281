"""The axiom walk: everything a theorem rests on, constant by constant.

A Lean file imports the modules with their proof terms (`import all`) and follows every constant that
is reachable from the theorem's statement and proof. Constants of Lean's own library are the
toolchain's and are not followed: their axioms are named when a proof uses them directly, and on the
embedded build their proof terms are not shipped. Everything else is ours to answer for.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

ALLOWED = ("propext", "Quot.sound", "Classical.choice")
"""The axioms of Lean's logic and library. Nothing else may be reached."""

_NAME = re.compile(r"[A-Za-z_][\w']*(\.[\w']+)*")
_IMPORTS = ("Lean.Environment", "Lean.Elab.Command", "Lean.Util.FoldConsts")
_DONE = "kshell:walked"


@dataclass(frozen=True, slots=True)
class AxiomReport:
    """What the walk found. `visited` is 0 when it did not finish; then nothing else means anything."""

    axioms: tuple[str, ...]
    objections: tuple[str, ...]
    visited: int

    @property
    def ok(self) -> bool:
        """Finished, and reached no axiom but the allowed ones, nothing opaque, unsafe or missing."""
        return self.visited > 0 and not self.reason

    @property
    def reason(self) -> str:
        """One line saying why it is not ok; empty when it is."""
        if self.visited == 0:
            return "the axiom walk did not finish"
        extra = [a for a in self.axioms if a not in ALLOWED]
        if extra:
            return f"the proof rests on the axiom {extra[0]}"
        return self.objections[0] if self.objections else ""


def walk_file(modules: Sequence[str], theorems: Sequence[str]) -> str:
    """Text of the Lean file that walks from `theorems`, which the `modules` declare.

    Raises ValueError for a name that is not a plain Lean name."""
    for name in (*modules, *theorems):
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a plain Lean name: {name!r}")
    body = resources.files("kshell.prover").joinpath("axiom_walk.lean").read_text(encoding="utf-8")
    imports = [f"public meta import {m}" for m in _IMPORTS] + [f"import all {m}" for m in modules]
    roots = ", ".join(f"`{t}" for t in theorems)
    run = (
        "#eval! show CommandElabM Unit from do\n"
        f"  let n ← KShellAudit.walk (← getEnv) [{roots}] {{}} 0\n"
        f'  IO.println ("{_DONE} " ++ Nat.repr n)\n'
    )
    return "\n".join(["module", *imports, body, run])


def read_report(lines: Iterable[str]) -> AxiomReport:
    """The report from the lines the walk printed."""
    axioms: list[str] = []
    objections: list[str] = []
    visited = 0
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "kshell:axiom":
            axioms.append(rest)
        elif word in ("kshell:opaque", "kshell:unsafe", "kshell:missing"):
            objections.append(f"the proof reaches the {word.removeprefix('kshell:')} constant {rest}")
        elif word == _DONE and rest.isdigit():
            visited = int(rest)
    return AxiomReport(tuple(dict.fromkeys(axioms)), tuple(objections), visited)
