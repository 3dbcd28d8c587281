"""`kshell new`: a task of a PyTorch file, of a C or CUDA loop nest, or of a sentence."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kshell.errors import UserError

if TYPE_CHECKING:
    from kshell.tasks.making import Draft
    from kshell.tasks.rehearsal import Rehearsed

HELP = """Make a task of a file or a sentence, and show it for confirmation with all that was assumed.

A PyTorch file (Model, get_inputs, get_init_inputs) is run to find axes and shapes. A C or CUDA file with
one loop nest over row-major arrays is read as tensor operations, which are checked by running the file.
A sentence, and C code beyond that, needs a language model ([models] in the configuration, or --model);
without one the nearest known task is offered. Its data synthesis is rehearsed in a process of its own.

Exit code 0: written or offered; 1: not confirmed; 2: set-up; 3: outside the built-in reader's language."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar='"TEXT"|FILE', help="a .py, .c or .cu file, or what to compute")
    parser.add_argument("--output", metavar="FILE.json", help="where the task goes (default: NAME.json here)")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=N", help="a size of a C file")
    parser.add_argument("--scalar", action="append", default=[], metavar="NAME=X", help="a float of a C file")
    parser.add_argument("--function", metavar="NAME", help="the function to read of a C file with several")
    parser.add_argument(
        "--model", metavar="M", help="the language model for a sentence (default: configured)"
    )
    parser.add_argument("--max-usd", type=float, metavar="D", help="what the model's calls may cost")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument("--json", action="store_true", help="print the task as JSON")


def run(args: argparse.Namespace) -> int:
    import asyncio

    from kshell import wiring
    from kshell.tasks import making
    from kshell.tasks.rehearsal import rehearse

    draft = _draft(args)
    if draft is None:
        return _offer(args)
    rehearsed = asyncio.run(rehearse(draft.task))
    reason = wiring.unfit(draft.task, draft.task.workload())
    if reason is not None:
        raise UserError(f"no task was made: {reason}")
    target = Path(args.output or f"{draft.task.name}.json")
    print(_summary(draft, rehearsed), file=sys.stderr)
    if not _confirmed(target, draft, args):
        return 1
    _written(draft, target)
    print(f"next: kshell run {target}", file=sys.stderr)
    if args.json:
        shown = {"file": str(target), "assumptions": list(draft.assumptions), "model": draft.by_model}
        print(json.dumps({**draft.task.model_dump(mode="json"), "made": shown}, indent=2))
    else:
        print(target)
    assert isinstance(draft, making.Draft)
    return 0


def _draft(args: argparse.Namespace) -> "Draft | None":
    """The task to confirm; None when only a known task can be offered."""
    from kshell.tasks import making
    from semantics.span import Refusal

    text: str = args.text
    if not making.looks_like_a_file(text):
        return _by_model(args, text, "")
    if text.endswith(".py"):
        return making.from_pytorch(text)
    try:
        sizes = {k: int(v) for k, v in _pairs("--size", args.size, int)}
        scalars = {k: float(v) for k, v in _pairs("--scalar", args.scalar, float)}
        return making.from_c(text, sizes, scalars, args.function)
    except Refusal as refusal:
        code = Path(text).read_text(encoding="utf-8")
        made = _by_model(args, f"the C function of {Path(text).name}", code)
        if made is not None:
            return made
        print(refusal.render(code, Path(text).name), file=sys.stderr)
        raise UserError(
            f"{text}: {refusal}; set a language model, or write the reference as a PyTorch file"
        ) from None


def _by_model(args: argparse.Namespace, text: str, code: str) -> "Draft | None":
    """A draft by the manifest role; None when no model is named."""
    import asyncio

    from kshell.config import load
    from kshell.models import model_of

    config = load()
    if not model_of("manifest", args.model or "", config):
        return None
    from kshell.tasks.drafting import by_model

    return asyncio.run(by_model(text, code, args.model or "", args.max_usd, config))


def _pairs(option: str, given: list[str], kind: type[int] | type[float]) -> list[tuple[str, float]]:
    found = []
    for part in (p for one in given for p in one.split(",")):
        name, _, value = part.partition("=")
        try:
            found.append((name.strip(), kind(value)))
        except ValueError:
            raise UserError(f"{option} {part!r} is not NAME=NUMBER") from None
    return found


def _summary(draft: "Draft", rehearsed: "list[Rehearsed]") -> str:
    task = draft.task
    lines = [
        f"{task.name}: {task.title}" + (f" (by {draft.by_model})" if draft.by_model else ""),
        f"  axes     {', '.join(f'{k}={v}' for k, v in task.axes.items()) or 'none'}",
    ]
    for label, tensors in (("input", task.inputs), ("output", task.outputs)):
        lines += [f"  {label:8} {t.name} [{', '.join(str(s) for s in t.shape)}] {t.dtype}" for t in tensors]
    lines += [f"  scalar   {name} = {value:g}" for name, value in task.scalars.items()]
    forward = task.reference.partition("def forward(")[2].partition("\n\n")[0].splitlines()[1:]
    lines += [f"  computes {line.strip()}" for line in forward if line.strip()]
    lines += [f"  assumed  {text}" for text in draft.assumptions]
    lines += [
        f"  data     {r.distribution}: {r.line}{f' (NOTE: {r.doubt})' if r.doubt else ''}" for r in rehearsed
    ]
    return "\n".join(lines)


def _confirmed(target: Path, draft: "Draft", args: argparse.Namespace) -> bool:
    """Ask on a terminal. Elsewhere a file is made without asking, but not over another one, and not from
    what a model said."""
    if args.yes:
        return True
    if sys.stdin.isatty():
        print(f"write {target}? [Y/n] ", end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip().lower() in ("", "y", "yes")
    if target.exists():
        raise UserError(f"{target} exists; give --output or --yes")
    if draft.by_model:
        print("kshell: not written: a model made this task; read it and give --yes", file=sys.stderr)
        return False
    return True


def _written(draft: "Draft", target: Path) -> None:
    from kshell.tasks.manifest import write

    try:
        write(draft.task, target)
    except OSError as error:
        raise UserError(f"{target}: cannot write: {error.strerror or error}") from error


def _offer(args: argparse.Namespace) -> int:
    """The nearest known task for a sentence."""
    from kshell.tasks.making import nearest

    found = nearest(args.text)
    if found is None:
        raise UserError(
            f"no known task resembles {args.text!r}, and making one of a sentence needs a language model "
            "(--model, KSHELL_MODEL or [models] in the configuration); or write a C or PyTorch file and run "
            "kshell new FILE, or see kshell tasks"
        )
    task = found.task
    if args.json:
        shown = {"nearest": task.name, "title": task.title, "sizes": found.sizes, "command": found.command}
        print(json.dumps(shown))
        return 0
    print(f"the nearest known task is {task.name} ({task.title})", file=sys.stderr)
    if found.numbers and not found.sizes:
        said = f"its axes are {', '.join(task.axes)}; the numbers of the sentence were not assigned"
        print(said, file=sys.stderr)
    print("a task of the sentence itself needs a language model: --model or KSHELL_MODEL", file=sys.stderr)
    print(found.command)
    return 0
