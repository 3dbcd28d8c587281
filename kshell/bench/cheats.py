"""`kshell bench cheats`: known ways to fool a harness, each refused by the layer its sample names.

A sample of `tests/cheats` says in its first lines its task, its sizes, the layer that must refuse it (`none`
for the honest kernel) and a part of that layer's answer. The layers, in the order they see a candidate:
`language` (it does not parse or type), `launch` (it does not bind to the sizes), `build` (the compiler),
`validate` (wrong outputs or damaged guards), `profile` (the measurement is refused)."""

import argparse
import asyncio
import hashlib
import json
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from insights_db.records import Candidate
    from kshell.protocols import Evaluator

HELP = (
    "Try the known cheats of kernel benchmarks: which layer refuses each, and that an honest kernel passes."
)
LAYERS = ("language", "launch", "build", "validate", "profile")


@dataclass(frozen=True, slots=True)
class Sample:
    """One cheat, or the honest kernel when `layer` is `none`."""

    path: Path
    title: str
    task: str
    axes: dict[str, int]
    layer: str
    answer: str
    source: str

    @property
    def name(self) -> str:
        return self.path.stem


@dataclass(frozen=True, slots=True)
class Outcome:
    """The layer that refused the sample (`none`: accepted) and what it said."""

    sample: Sample
    layer: str
    reason: str
    seconds: float

    @property
    def right(self) -> bool:
        """Refused by the layer named, for the reason named."""
        return self.layer == self.sample.layer and self.sample.answer in self.reason


def folder() -> Path:
    """Where the samples are in a checkout."""
    return Path(__file__).parent.parent.parent / "tests" / "cheats"


def read(path: Path) -> Sample:
    """Parse a sample's first lines. Raises ValueError naming what is missing."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    header: dict[str, str] = {}
    for line in lines[1:]:
        key, colon, value = line.removeprefix("// ").partition(": ")
        if not line.startswith("// ") or not colon:
            break
        header[key] = value
    if not {"task", "layer"} <= header.keys() or header["layer"] not in (*LAYERS, "none"):
        raise ValueError(f"{path.name}: needs `// task: NAME` and `// layer: {' | '.join(LAYERS)} | none`")
    axes = {a: int(n) for a, _, n in (part.partition("=") for part in header.get("size", "").split())}
    title = lines[0].removeprefix("// ")
    return Sample(path, title, header["task"], axes, header["layer"], header.get("answer", ""), source)


def samples() -> list[Sample]:
    """Every sample, in the order of the numbers. Raises UserError outside a checkout."""
    from kshell.errors import UserError

    paths = sorted(folder().glob("*.cu"))
    if not paths:
        raise UserError(f"no samples in {folder()}; run this bench in a checkout of the repository")
    return [read(path) for path in paths]


async def attempt(sample: Sample, evaluator: "Evaluator") -> Outcome:
    """Take a sample through all layers until one refuses it."""
    started = time.monotonic()
    layer, reason = await _refusal(sample, evaluator)
    return Outcome(sample, layer, reason, time.monotonic() - started)


async def _refusal(sample: Sample, evaluator: "Evaluator") -> tuple[str, str]:
    from kshell import tasks
    from semantics.program import load
    from semantics.span import Refusal

    task = tasks.get(sample.task)
    workload = task.workload(**sample.axes)
    try:
        program = load(sample.source)
    except Refusal as refusal:
        return "language", str(refusal)
    try:
        program.plan(task, workload)
    except Refusal as refusal:
        return "launch", str(refusal)
    candidate = _candidate(sample)
    compiled = await evaluator.compile(candidate, task, workload)
    if not compiled.ok:
        return "build", compiled.diagnostics
    validation = await evaluator.validate(candidate, task, workload, compiled)
    if not validation.ok:
        return "validate", validation.reason
    profile = await evaluator.profile(candidate, task, workload, compiled)
    return ("none", "") if profile.ok else ("profile", profile.reason)


def _candidate(sample: Sample) -> "Candidate":
    from insights_db.records import Candidate

    key = hashlib.sha256(sample.source.encode()).hexdigest()[:12]
    return Candidate(
        id=key, source=sample.source, task=sample.task, round=0, index=0, proposer="bench cheats"
    )


async def try_all(evaluator: "Evaluator", only: str = "") -> list[Outcome]:
    """The outcomes of every sample with `only` in its name."""
    return [await attempt(s, evaluator) for s in samples() if only in s.name]


async def _tried(evaluator: "Evaluator", only: str) -> list[Outcome]:
    from kshell.engine.desk import Closing

    try:
        return await try_all(evaluator, only)
    finally:
        if isinstance(evaluator, Closing):
            await evaluator.close()


def summary(outcomes: list[Outcome], device: str) -> dict[str, Any]:
    """What `--json` prints. A cheat counts as refused only when the layer it names refused it."""
    cheats = [o for o in outcomes if o.sample.layer != "none"]
    honest = [o for o in outcomes if o.sample.layer == "none"]
    return {
        "refused": sum(o.right for o in cheats),
        "total": len(cheats),
        "by_layer": dict(Counter(o.layer for o in cheats)),
        "honest_accepted": sum(o.right for o in honest),
        "honest": len(honest),
        "device": device,
        "results": [
            {
                "name": o.sample.name,
                "layer": o.layer,
                "expected": o.sample.layer,
                "right": o.right,
                "reason": o.reason,
                "seconds": round(o.seconds, 3),
            }
            for o in outcomes
        ],
    }


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default="", metavar="TEXT", help="only samples with TEXT in their name")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="where they run (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="kshell-cheats-") as cache:
        if args.device == "cuda":
            from kshell import wiring
            from kshell.engine.settings import Settings

            evaluator: Evaluator = wiring.evaluator(Settings(device="cuda"))
        else:
            from kshell.harness.cpu import CpuEvaluator
            from kshell.tasks import reference

            evaluator = CpuEvaluator(reference.compute, Path(cache))
        outcomes = asyncio.run(_tried(evaluator, args.only))
    found = summary(outcomes, evaluator.device)
    if args.json:
        print(json.dumps(found))
    else:
        for o in outcomes:
            said = f"refused by {o.layer}: {o.reason}" if o.layer != "none" else "accepted"
            print(f"{'ok ' if o.right else 'BAD'} {o.sample.name:<30} {o.seconds:5.2f} s  {said}")
        honest = f"{found['honest_accepted']} of {found['honest']} honest kernels accepted"
        print(f"{found['refused']} of {found['total']} cheats refused on {found['device']}, {honest}")
    return 0 if all(o.right for o in outcomes) else 1
