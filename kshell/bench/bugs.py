"""`kshell bench bugs`: the corpus of kernel bugs and their correct twins.

A kernel of `tests/bugs` names its task and sizes in its first lines. The lines of a bug that a report
must name end in `// <- FAULT`; a twin has none and must be accepted.
"""

import argparse
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.falsifier import Finding

HELP = "Check the corpus of kernel bugs: the right fault at the right lines of each, no alarm at any twin."
_MARK = re.compile(r"// <- (.+)$")


@dataclass(frozen=True, slots=True)
class Sample:
    """One kernel of the corpus. `fault` is None for a correct one; `lines` are the marked lines."""

    path: Path
    title: str
    task: str
    axes: dict[str, int]
    fault: str | None
    lines: tuple[int, ...]
    source: str

    @property
    def name(self) -> str:
        return self.path.name.removesuffix(".cu")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the checker said of a sample. `got` is the fault it named, with its lines."""

    sample: Sample
    got: str | None
    lines: tuple[int, ...]
    message: str
    seconds: float

    @property
    def right(self) -> bool:
        """A bug with its fault and exactly its lines, or a twin without a counterexample."""
        if self.sample.fault is None:
            return self.got is None
        return self.got == self.sample.fault and set(self.lines) == set(self.sample.lines)


def folder() -> Path:
    """Where the corpus is in a checkout."""
    return Path(__file__).parent.parent.parent / "tests" / "bugs"


def read(path: Path) -> Sample:
    """Parse the first lines and the marks. Raises ValueError naming what is missing."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    header = {}
    for line in lines[1:3]:
        key, _, value = line.removeprefix("// ").partition(": ")
        header[key] = value
    if set(header) != {"task", "size"}:
        raise ValueError(f"{path.name}: lines 2 and 3 are `// task: NAME` and `// size: AXIS=N ...`")
    marks = {k: m.group(1) for k, line in enumerate(lines, 1) if (m := _MARK.search(line))}
    kinds = set(marks.values())
    if (path.name.endswith(".bug.cu")) != (len(kinds) == 1):
        raise ValueError(f"{path.name}: a bug marks its lines with one fault, a twin marks none")
    task = header["task"]
    return Sample(
        path=path,
        title=lines[0].removeprefix("// "),
        task=str(path.parent / "tasks" / task) if task.endswith(".json") else task,
        axes={a: int(n) for a, _, n in (part.partition("=") for part in header["size"].split())},
        fault=next(iter(kinds), None),
        lines=tuple(marks),
        source=source,
    )


def samples() -> list[Sample]:
    """The corpus, in the order of its numbers. Raises UserError outside a checkout."""
    from kshell.errors import UserError

    paths = sorted(folder().glob("*.cu"))
    if not paths:
        raise UserError(f"no kernels in {folder()}; run this bench in a checkout of the repository")
    return [read(path) for path in paths]


def check(sample: Sample, seconds: float = 6.0) -> Outcome:
    """Run the checker on one sample, as `kshell check` does."""
    from agents.falsifier import Attack, oracle_of_specs
    from kshell import tasks
    from kshell.tasks import reference
    from semantics.program import load
    from semantics.span import Refusal

    started = time.monotonic()
    task = tasks.load(sample.task)
    workload = task.workload(**sample.axes)
    oracle = oracle_of_specs(tasks.spec_of, reference.compute)
    try:
        attack = Attack(load(sample.source), sample.source, task, workload, oracle, seconds)
        finding: Finding | None = attack.search()
    except Refusal as refusal:
        return Outcome(sample, "REFUSED", (refusal.span.line,), str(refusal), time.monotonic() - started)
    spent = time.monotonic() - started
    if finding is None:
        return Outcome(sample, None, (), "", spent)
    found = finding.counterexample
    return Outcome(sample, found.fault, tuple(p.line for p in found.points), found.message, spent)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default="", metavar="TEXT", help="only samples with TEXT in their name")


def run(args: argparse.Namespace) -> int:
    outcomes = [check(sample) for sample in samples() if args.only in sample.name]
    bugs = [o for o in outcomes if o.sample.fault is not None]
    twins = [o for o in outcomes if o.sample.fault is None]
    found = sum(o.right for o in bugs)
    alarms = sum(not o.right for o in twins)
    if args.json:
        results = [_as_json(o) for o in outcomes]
        print(json.dumps({"found": found, "total": len(bugs), "false_alarms": alarms, "results": results}))
    else:
        for o in outcomes:
            print(f"{'ok ' if o.right else 'BAD'} {o.sample.name:<40} {o.seconds:5.1f} s  {_said(o)}")
        print(f"{found} of {len(bugs)} bugs found, {alarms} false alarms in {len(twins)} correct kernels")
    return 0 if found == len(bugs) and alarms == 0 else 1


def _said(o: Outcome) -> str:
    if o.got is None:
        return "nothing found"
    said = f"{o.got} line {', '.join(map(str, o.lines))}"
    if o.right:
        return said
    wanted = (
        "nothing"
        if o.sample.fault is None
        else f"{o.sample.fault} line {', '.join(map(str, o.sample.lines))}"
    )
    return f"{said}, expected {wanted}: {o.message}"


def _as_json(o: Outcome) -> dict[str, Any]:
    return {
        "name": o.sample.name,
        "expected": o.sample.fault,
        "got": o.got,
        "lines": list(o.lines),
        "right": o.right,
        "seconds": round(o.seconds, 2),
    }
