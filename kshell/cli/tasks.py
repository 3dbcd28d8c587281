"""`kshell tasks [TASK]`: list the tasks, or show one."""

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semantics.task import Task, Tensor

HELP = "List the tasks, or show one: axes, inputs, outputs, tolerance, reference."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", nargs="?", metavar="TASK", help="a task name or a manifest file")


def run(args: argparse.Namespace) -> int:
    from kshell import tasks, wiring

    if args.task:
        task = wiring.task(args.task)
        print(task.model_dump_json(indent=2) if args.json else _shown(task))
        return 0
    known = [tasks.get(name) for name in tasks.names()]
    if args.json:
        print(json.dumps([task.model_dump(mode="json") for task in known]))
        return 0
    for task in known:
        axes = " ".join(f"{name}={value}" for name, value in task.axes.items())
        print(f"{task.name:<15} {task.family:<12} {axes:<44} {task.title}")
    return 0


def _shown(task: "Task") -> str:
    def tensor(t: "Tensor") -> str:
        return f"{t.name}[{', '.join(str(size) for size in t.shape)}] {t.dtype}"

    axes = ", ".join(f"{name}={value}" for name, value in task.axes.items())
    lines = [f"{task.name}: {task.title} ({task.family})", f"  axes       {axes}"]
    lines += [f"  constraint {text}" for text in task.constraints]
    lines += [f"  input      {tensor(t)}" for t in task.inputs]
    lines += [f"  output     {tensor(t)}" for t in task.outputs]
    lines += [f"  scalar     {name} = {value}" for name, value in task.scalars.items()]
    lines += [f"  tolerance  atol {task.tolerance.atol:g}, rtol {task.tolerance.rtol:g}", ""]
    return "\n".join(lines) + "\n".join(f"    {line}".rstrip() for line in task.reference.splitlines())
