"""`kshell bench attacks`: fake proofs and forged certificates, each refused by the layer it names.

The claim under attack is false on purpose: it is the correctness of a kernel whose guard is off by one.
Accepting any submission would therefore be a hole in the whole argument. A canary, a true claim with an
honest proof, shows that the layers let honest work through."""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from insights_db.records import Certificate
    from kshell.prover.submission import Statement

HELP = "Try every fake proof and forged certificate of the corpus: which layer refused it."

CLAIM = "KShell.Candidate.Claim"
CANARY = (
    "theorem proof : CanaryClaim := by\n  intro n k h\n"
    "  exact KShell.Auto.congr2 (f := fun a b => a + b) h rfl\n"
)
SECONDS = 90.0
WRONG_KERNEL = """__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) y[i] = fmaxf(x[i], 0.0f);
}

void launch(const float* x, float* y, int n) {
    relu<<<(n + 255) / 256, 256>>>(x, y, n);
}
"""


@dataclass(frozen=True, slots=True)
class Attack:
    """A sample: the layer that must refuse it, the trick, the text."""

    name: str
    layer: str
    trick: str
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an attack. `got` is the layer that refused it, `accepted` when none did."""

    name: str
    trick: str
    expected: str
    got: str
    reason: str
    seconds: float

    @property
    def refused(self) -> bool:
        """By the named layer."""
        return self.got == self.expected


def folder() -> Path:
    """Where the corpus is in a checkout."""
    return Path(__file__).parent.parent.parent / "tests" / "attacks"


def read(path: Path) -> Attack:
    """A sample from its file. Raises ValueError when its first two lines are not of the form."""
    text = path.read_text(encoding="utf-8")
    first, second, body = text.split("\n", 2)
    if not first.startswith("-- layer: ") or not second.startswith("-- trick: "):
        raise ValueError(f"{path.name}: the first lines are `-- layer: LAYER` and `-- trick: TEXT`")
    return Attack(path.stem, first.removeprefix("-- layer: "), second.removeprefix("-- trick: "), body)


def corpus() -> list[Attack]:
    """Every sample, by name."""
    return [read(p) for p in sorted(folder().glob("*.lean"))]


def false_statement() -> "Statement":
    """The claim that the kernel with the wrong guard is correct."""
    from kshell import tasks
    from kshell.prover.submission import Statement
    from semantics.lean.layout import statement_text
    from semantics.program import load

    task = tasks.get("relu")
    workload = task.workload(n=1000)
    plan = load(WRONG_KERNEL).plan(task, workload)
    text, claim = statement_text(WRONG_KERNEL, plan, tasks.spec_of(task, workload), ["x"])
    assert claim == CLAIM
    return Statement(text, claim)


def canary_statement() -> "Statement":
    """A true claim that a lemma of the package proves: the walk has to follow the lemma's proof too."""
    from kshell.prover.submission import Statement

    text = "module\npublic import KShell.Auto\n@[expose] public section\n"
    return Statement(
        text + "def CanaryClaim : Prop := ∀ n k : Nat, n = k → n + 1 = k + 1\nend\n", "CanaryClaim"
    )


# ---------------------------------------------------------------- certificates

Forgery = tuple[str, str, "Certificate"]


def _forgeries(own: "Certificate", other: "Certificate", shared: "Certificate") -> dict[str, Forgery]:
    """Name to (finding that must refuse it, trick, the forged certificate). `own` is of a kernel that says
    `__restrict__`, `shared` of one that is also claimed in place, `other` of another task."""

    def change(**values: object) -> "Certificate":
        return own.model_copy(update=values)

    def claims(which: "Certificate") -> dict[str, object]:
        return {"statement": which.statement, "lean_file": which.lean_file, "theorem": which.theorem}

    lists = "List Layout := [[], [(1, 0)]]", "List Layout := [[]]"
    assert all(lists[0] in text for text in (shared.statement, shared.lean_file))
    fewer = {key: str(text).replace(*lists) for key, text in claims(shared).items()}
    rehashed = {"source": other.source, "source_hash": other.source_hash}
    return {
        "swapped_source": ("source", "another source under the same hash", change(source=other.source)),
        "swapped_source_rehashed": (
            "candidate",
            "another source with its own hash under the old name",
            change(**rehashed),
        ),
        "other_tasks_proof": ("task", "the proof of another task", other),
        "relabelled_task": (
            "statement",
            "the proof of another task under this task's name and hashes",
            change(statement=other.statement, lean_file=other.lean_file),
        ),
        "wrong_launch": ("launch", "sizes other than the proved ones", change(axes={"n": 999})),
        "missing_axis": ("sizes", "sizes that leave the grid open", change(axes={})),
        "stale_package": ("package", "proved with another machine model", change(package_hash="0" * 64)),
        "weakened_assumptions": ("assumptions", "fewer assumptions than needed", change(assumptions=())),
        "extra_axiom": ("axioms listed", "an axiom of its own", change(axioms=("propext", "Cheat.axiom"))),
        "edited_statement": ("statement", "a nicer statement", change(statement="True")),
        "edited_file": ("definitions", "a Lean file of its own", change(lean_file="theorem correct : True")),
        "renamed_theorem": ("theorem", "pointing at another theorem", change(theorem="KShell.lit0")),
        "edited_spec": ("spec", "another specification's hash", change(spec_hash="0" * 64)),
        "edited_task": ("task text", "another wording of the task", change(task_hash="0" * 64)),
        "later_version": ("version", "a version that this build does not know", change(version=2)),
        "claimed_in_place": (
            "statement",
            "in place, where the source says `__restrict__`",
            change(**claims(shared)),
        ),
        "fewer_layouts": (
            "statement",
            "a layout that the task declares taken out of the claim",
            shared.model_copy(update=fewer),
        ),
    }


def _certificate(task_name: str, source: str) -> "Certificate":
    """A certificate as it would be if its proof had closed; no Lean is run, the audit must not believe it."""
    from kshell import tasks
    from kshell.prover.prover import emitted, make_certificate

    task = tasks.get(task_name)
    known, emission = emitted(source, task, task.workload())
    return make_certificate(
        known.source_hash[:12], known, emission, "lean", ("propext",), len(emission.steps)
    )


def forged() -> list[Outcome]:
    """Every forged certificate through the comparisons of the audit."""
    from kshell import tasks
    from kshell.prover.audit import compare
    from scaffolds.families import families_of
    from scaffolds.families.space import conservative_schedule

    def plain(name: str) -> str:
        task = tasks.get(name)
        family = families_of(task)[0]
        workload = task.workload()
        return family.source(task, workload, conservative_schedule(family, task, workload))

    own, other = _certificate("relu", plain("relu")), _certificate("gelu", plain("gelu"))
    shared = _certificate("relu", WRONG_KERNEL.replace("i <= n", "i < n"))
    for one in (own, shared):
        honest, _ = compare(one, tasks.get("relu"))
        assert all(f.ok for f in honest), "an honest certificate must pass the comparisons"
    outcomes = []
    for name, (expected, trick, certificate) in _forgeries(own, other, shared).items():
        started = time.perf_counter()
        findings, _ = compare(certificate, tasks.get("relu"))
        failed = [f for f in findings if not f.ok]
        got = next((f.name for f in failed if f.name == expected), failed[0].name if failed else "accepted")
        reason = failed[0].detail if failed else ""
        outcomes.append(
            Outcome(f"certificate_{name}", trick, expected, got, reason, time.perf_counter() - started)
        )
    return outcomes


# ---------------------------------------------------------------- running


async def submitted(attacks: list[Attack], report: Callable[[Outcome], None]) -> bool:
    """Judge the submissions one after the other; whether the canary was accepted."""
    from kshell.lean import package, toolchain
    from kshell.lean.runner import LeanRunner
    from kshell.prover.submission import judge

    runner = LeanRunner(toolchain.find())
    tree = await package.build(runner)
    with tempfile.TemporaryDirectory(prefix="kshell-attacks-") as temporary:
        statement = await asyncio.to_thread(false_statement)
        ours = Path(temporary) / "false"
        ours.mkdir()
        for attack in attacks:
            started = time.perf_counter()
            found = await judge(runner, tree, ours, statement, attack.text, seconds=SECONDS)
            report(
                Outcome(
                    attack.name,
                    attack.trick,
                    attack.layer,
                    found.layer.value,
                    found.reason,
                    time.perf_counter() - started,
                )
            )
        honest = Path(temporary) / "honest"
        honest.mkdir()
        canary = await judge(runner, tree, honest, canary_statement(), CANARY, seconds=SECONDS)
    if not canary.accepted:
        print(f"the canary was refused by {canary.layer.value}: {canary.reason}", file=sys.stderr)
    return canary.accepted


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default="", metavar="NAME[,NAME]", help="these submissions only")


def run(args: argparse.Namespace) -> int:
    wanted = {n for n in args.only.split(",") if n}
    attacks = [a for a in corpus() if not wanted or a.name in wanted]
    outcomes: list[Outcome] = []

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        mark = "refused" if outcome.refused else "NOT REFUSED AS NAMED"
        print(f"{mark:8} by {outcome.got:12} {outcome.name}: {outcome.reason[:90]}", file=sys.stderr)

    honest = asyncio.run(submitted(attacks, report))
    if not wanted:
        for outcome in forged():
            report(outcome)
    refused = sum(o.refused for o in outcomes)
    if args.json:
        print(
            json.dumps(
                {
                    "refused": refused,
                    "total": len(outcomes),
                    "canary_accepted": honest,
                    "results": [asdict(o) for o in outcomes],
                }
            )
        )
    else:
        canary = "accepted" if honest else "REFUSED"
        print(f"{refused} of {len(outcomes)} refused by the layer named; canary {canary}")
    return 0 if refused == len(outcomes) and honest else 1
