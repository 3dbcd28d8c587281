"""`kshell new`: a task of a PyTorch file, or the nearest known task of a sentence."""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kshell.errors import UserError

if TYPE_CHECKING:
    from semantics.task import Task

HELP = (
    "Make a task of a KernelBench-style PyTorch file (Model, get_inputs, get_init_inputs): axes and shapes "
    "are found by running it. A sentence is matched with the known tasks."
)

_STOP = frozenset("the a an of over on in with and for to float float32 matrix rows row kernel by".split())


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar='"TEXT"|FILE.py', help="a PyTorch file, or what the kernel should do")
    parser.add_argument("--output", metavar="FILE.json", help="where the task goes (default: NAME.json here)")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument("--json", action="store_true", help="print the task as JSON")


def run(args: argparse.Namespace) -> int:
    text: str = args.text
    suffix = Path(text).suffix
    if suffix == ".py":
        return _from_file(args)
    if suffix in (".c", ".cu", ".cpp", ".h"):
        raise UserError(
            f"{text}: a task of a {suffix} file needs a language model, which this build does not have; "
            "write the reference as a PyTorch file (Model, get_inputs, get_init_inputs)"
        )
    return _from_sentence(text, as_json=args.json)


def _from_file(args: argparse.Namespace) -> int:
    from kshell.tasks.manifest import write
    from kshell.tasks.pytorch import from_file

    task = from_file(args.text)
    target = Path(args.output or f"{task.name}.json")
    print(_summary(task), file=sys.stderr)
    if target.exists() and not args.yes and not sys.stdin.isatty():
        raise UserError(f"{target} exists; give --output or --yes")
    if sys.stdin.isatty() and not args.yes:
        print(f"write {target}? [Y/n] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("", "y", "yes"):
            return 1
    try:
        write(task, target)
    except OSError as error:
        raise UserError(f"{target}: cannot write: {error.strerror or error}") from error
    print(f"next: kshell run {target}", file=sys.stderr)
    print(task.model_dump_json(indent=2) if args.json else str(target))
    return 0


def _summary(task: "Task") -> str:
    lines = [
        f"{task.name}: {task.title}",
        f"  axes     {', '.join(f'{k}={v}' for k, v in task.axes.items()) or 'none'}",
    ]
    for label, tensors in (("input", task.inputs), ("output", task.outputs)):
        lines += [f"  {label:8} {t.name} [{', '.join(str(s) for s in t.shape)}] {t.dtype}" for t in tensors]
    lines.append(
        "  assumed  float32, contiguous, row-major; parameters of the module are inputs of the kernel"
    )
    return "\n".join(lines)


def _from_sentence(text: str, *, as_json: bool) -> int:
    from kshell import tasks

    words = {w for w in re.findall(r"[a-z]{2,}", text.lower()) if w not in _STOP}
    scored = [(len(words & _words(tasks.get(n))), n) for n in tasks.names()]
    best, name = max(scored, key=lambda pair: pair[0])
    if best == 0:
        raise UserError(
            f"no known task resembles {text!r}, and making one of a sentence needs a language model, which "
            "this build does not have; write a PyTorch file and run kshell new FILE.py, or see kshell tasks"
        )
    task = tasks.get(name)
    numbers = [int(n) for n in re.findall(r"\b\d+\b", text)]
    sizes = dict(zip(task.axes, numbers, strict=True)) if len(numbers) == len(task.axes) else {}
    size = "".join(f" --size {k}={v}" for k, v in sizes.items())
    command = f"kshell run {name}{size}"
    if as_json:
        print(json.dumps({"nearest": name, "title": task.title, "sizes": sizes, "command": command}))
        return 0
    print(f"the nearest known task is {name} ({task.title})", file=sys.stderr)
    if numbers and not sizes:
        print(
            f"its axes are {', '.join(task.axes)}; the numbers of the sentence were not assigned",
            file=sys.stderr,
        )
    print(command)
    return 0


def _words(task: "Task") -> set[str]:
    return set(re.findall(r"[a-z]{2,}", f"{task.name} {task.title}".lower().replace("_", " "))) - _STOP
