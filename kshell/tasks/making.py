"""From what a person has to a Task: a PyTorch file, a C or CUDA file, or a sentence."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kshell.errors import UserError
from semantics.span import Refusal
from semantics.task import Task

C_SUFFIXES = (".c", ".cu", ".cpp", ".cc", ".h", ".cuh")
_STOP = frozenset("the a an of over on in with and for to float float32 matrix rows row kernel by".split())


@dataclass(frozen=True, slots=True)
class Draft:
    """A task to confirm: what was assumed, one line each, and whether a model had a hand in it."""

    task: Task
    assumptions: tuple[str, ...]
    by_model: str = ""


@dataclass(frozen=True, slots=True)
class Nearest:
    """A known task that resembles a sentence, and the sizes its numbers give."""

    task: Task
    sizes: dict[str, int]
    numbers: bool

    @property
    def command(self) -> str:
        """How to run it."""
        return f"kshell run {self.task.name}" + "".join(f" --size {k}={v}" for k, v in self.sizes.items())


def from_pytorch(path: str) -> Draft:
    """The draft of a KernelBench-style file. Raises UserError."""
    from kshell.tasks.pytorch import from_file

    said = "float32, contiguous, row-major; parameters of the module are inputs of the kernel"
    return Draft(from_file(path), (said,))


def from_c(path: str, sizes: Mapping[str, int], scalars: Mapping[str, float], function: str | None) -> Draft:
    """The draft of a C or CUDA loop nest, checked by running the function. Raises UserError, and Refusal
    for code that the built-in reader does not read."""
    from kshell.tasks.c import read
    from kshell.tasks.c.check import disagreement

    reading = read(path, sizes, scalars, function)
    try:
        wrong = disagreement(reading)
    except Refusal as refusal:
        said = f"not checked by running the function: {refusal}"
        return Draft(reading.task, (*reading.assumptions, said))
    if wrong is not None:
        at = ", ".join(f"{k}={v}" for k, v in wrong.axes.items())
        raise UserError(
            f"{path}: the function and the reference made of it disagree ({wrong.fault} at {at}: "
            f"{wrong.message}); write the reference as a PyTorch file"
        )
    said = "the reference was checked by running the function on small sizes: no difference found"
    return Draft(reading.task, (*reading.assumptions, said))


def nearest(text: str) -> Nearest | None:
    """The known task that shares most words with a sentence; None when none shares any."""
    from kshell import tasks

    words = _words(text)
    scored = [(len(words & _words(f"{n} {tasks.get(n).title}")), n) for n in tasks.names()]
    best, name = max(scored, key=lambda pair: pair[0])
    if best == 0:
        return None
    task = tasks.get(name)
    numbers = [int(n) for n in re.findall(r"\b\d+\b", text)]
    sizes = dict(zip(task.axes, numbers, strict=True)) if len(numbers) == len(task.axes) else {}
    return Nearest(task, sizes, bool(numbers))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{2,}", text.lower().replace("_", " "))) - _STOP


def looks_like_a_file(text: str) -> bool:
    """Whether the argument names a file rather than saying what to compute."""
    return Path(text).suffix in (".py", *C_SUFFIXES) and not re.search(r"\s", text)
