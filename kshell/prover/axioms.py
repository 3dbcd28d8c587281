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

from kshell.lean.package import LIBRARY

ALLOWED = ("propext", "Quot.sound", "Classical.choice")
"""The axioms of Lean's logic and library. Nothing else may be reached."""

_NAME = re.compile(r"[A-Za-z_][\w']*(\.[\w']+)*")
_IMPORTS = ("Lean.Environment", "Lean.Elab.Command", "Lean.Util.FoldConsts")
_FRONTEND = "Lean.Elab.Frontend"
RESIDENT_IMPORTS = (f"{LIBRARY}.Auto", f"{LIBRARY}.Layout")
"""What a resident checker has loaded for the texts it checks."""
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
    _check(*modules, *theorems)
    return _walk(modules, f"[{', '.join(f'`{t}' for t in theorems)}]")


def package_walk_file(modules: Sequence[str]) -> str:
    """Text of the Lean file that walks from every constant of the proof package.

    Raises ValueError for a name that is not a plain Lean name."""
    _check(*modules)
    data = "env.header.moduleNames.toList env.header.moduleData.toList"
    return _walk(modules, f"(KShellAudit.declared env `{LIBRARY} {data} [])")


def resident_file() -> str:
    """Text of the Lean file that checks texts on request: see `kshell.lean.resident`. The proofs of the
    package are not walked there, but once beforehand."""
    imports = [f"public import {m}" for m in RESIDENT_IMPORTS]
    imports += [f"public meta import {m}" for m in (*_IMPORTS, _FRONTEND)]
    return "\n".join(["module", *imports, _text("axiom_walk.lean"), _text("resident.lean")])


def _check(*names: str) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a plain Lean name: {name!r}")


def _text(name: str) -> str:
    return resources.files("kshell.prover").joinpath(name).read_text(encoding="utf-8")


def _walk(modules: Sequence[str], roots: str) -> str:
    imports = [f"public meta import {m}" for m in _IMPORTS] + [f"import all {m}" for m in modules]
    run = (
        "#eval! show CommandElabM Unit from do\n"
        "  let env ← getEnv\n"
        f"  let n ← KShellAudit.walk IO.println (fun _ => false) env {roots} {{}} 0\n"
        f'  IO.println ("{_DONE} " ++ Nat.repr n)\n'
    )
    return "\n".join(["module", *imports, _text("axiom_walk.lean"), run])


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
