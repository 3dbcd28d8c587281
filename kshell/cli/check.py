"""`kshell check KERNEL.cu --task T`: parse a kernel, run it in the interpreter, try to break it."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kshell.cli.options import COUNT, SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.falsifier import Attack, Finding
    from semantics.idealised import Idealisation

HELP = (
    "Parse a kernel, run it in the interpreter and try to break it: small and ragged sizes, adversarial "
    "inputs, races, bounds, overflow. Exit code 0: nothing found, which proves nothing; 1: a counterexample, "
    "printed with the threads and lines; 3: outside the supported language."
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="KERNEL.cu", help="kernels and one launcher")
    parser.add_argument("--task", required=True, metavar="T", help="a task name or a manifest file")
    parser.add_argument(
        "--size", action="append", default=[], metavar="AXIS=N", help="size of an axis (default: the task's)"
    )
    parser.add_argument(
        "--seconds", type=SECONDS, default=10.0, metavar="S", help="time to look for one (default 10)"
    )
    parser.add_argument("--seed", type=COUNT, default=0, help="seed of the inputs (default 0)")


def run(args: argparse.Namespace) -> int:
    from agents.falsifier import Attack, oracle_of_specs
    from kshell import tasks, wiring
    from kshell.errors import UserError
    from kshell.tasks import reference
    from semantics.idealised import idealisations
    from semantics.program import load
    from semantics.span import Refusal

    task = wiring.task(args.task)
    workload = wiring.workload(task, args.size, args.seed)
    try:
        source = Path(args.kernel).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{args.kernel}: not UTF-8 text") from None
    name = Path(args.kernel).name
    started = time.monotonic()
    try:
        oracle = oracle_of_specs(tasks.spec_of, reference.compute)
        program = load(source)
        attack = Attack(program, source, task, workload, oracle, args.seconds, args.seed)
        finding = attack.search()
        ideal = idealisations(program.lowered.values())
    except Refusal as refusal:
        return _refused(refusal, source, name, args.json)
    except reference.ReferenceFailure as failure:
        raise UserError(str(failure)) from None
    if args.json:
        print(json.dumps(_as_json(finding, attack, ideal, time.monotonic() - started)))
    else:
        print(_as_text(finding, attack, ideal, source, name, task.name))
    return 0 if finding is None else 1


def _refused(refusal: Any, source: str, name: str, as_json: bool) -> int:
    if as_json:
        span = refusal.span
        where = {"line": span.line, "column": span.column}
        print(json.dumps({"ok": False, "refused": {"reason": refusal.reason, "hint": refusal.hint, **where}}))
    else:
        print(f"refused: {refusal.render(source, name)}", file=sys.stderr)
    return 3


def _as_json(
    finding: "Finding | None", attack: "Attack", ideal: "Sequence[Idealisation]", seconds: float
) -> dict[str, Any]:
    found = None if finding is None else finding.counterexample.model_dump(mode="json")
    notes = [
        {"kind": n.kind, "message": n.message, "lines": [s.line for s in n.spans]}
        for n in attack.effort.notes
    ]
    return {
        "ok": finding is None,
        "counterexample": found,
        "notes": notes,
        "idealisations": [{"line": i.line, "message": i.message} for i in ideal],
        "runs": attack.effort.launches,
        "sizes": attack.effort.sizes,
        "seconds": round(seconds, 3),
    }


def _as_text(
    finding: "Finding | None",
    attack: "Attack",
    ideal: "Sequence[Idealisation]",
    source: str,
    name: str,
    task: str,
) -> str:
    from kshell.findings import render

    lines = []
    if finding is not None:
        lines.append(render(finding, source, name))
    for note in attack.effort.notes:
        if finding is None or note != finding.fault:
            lines.append(f"{name}:{note.spans[0].line}: note: {note.message}")
    lines += [f"{name}:{i.line}: idealised: {i.message}" for i in ideal]
    if finding is None:
        lines.append(f"{name}: no counterexample for {task} ({attack.effort}); this is no proof")
    return "\n".join(lines)
