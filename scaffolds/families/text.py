"""Small helpers to write CUDA C text."""

import textwrap

from semantics.task import Task, Tensor

from .space import Value


def block(text: str, depth: int = 1) -> str:
    """`text` dedented, then indented by `depth` levels of four spaces, without outer blank lines."""
    return textwrap.indent(textwrap.dedent(text).strip("\n"), "    " * depth)


def unit(*parts: str) -> str:
    """A translation unit: the parts dedented and separated by one blank line."""
    return "\n\n".join(textwrap.dedent(part).strip("\n") for part in parts if part.strip()) + "\n"


def parameters(task: Task, axes: tuple[str, ...], restrict: bool, scalars: tuple[str, ...] = ()) -> str:
    """The parameter list of a kernel or launcher: inputs, outputs, float scalars, axes, by their names
    in the task."""
    keyword = " __restrict__ " if restrict else " "
    tensors = [f"const float*{keyword}{t.name}" for t in task.inputs]
    tensors += [f"float*{keyword}{t.name}" for t in task.outputs]
    return ", ".join([*tensors, *(f"float {name}" for name in scalars), *(f"int {name}" for name in axes)])


def names(task: Task, axes: tuple[str, ...], scalars: tuple[str, ...] = ()) -> str:
    """The matching arguments."""
    return ", ".join([*(t.name for t in (*task.inputs, *task.outputs)), *scalars, *axes])


def shape_axes(tensor: Tensor) -> tuple[str, ...]:
    """The shape as C expressions; compound ones in parentheses."""
    parts = [str(s) for s in tensor.shape]
    return tuple(p if p.replace("_", "").isalnum() else f"({p})" for p in parts)


def integer(value: Value) -> int:
    """A schedule's value as an int. Raises TypeError for a name or a switch."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is not a number")
    return value
