"""Whether a task can be judged at all, asked before a candidate is made.

A task is refused when its reference fails, is not deterministic or not finite, when an output ignores an
input or hardly varies, or when its tolerance lets zeros, a constant or a copied input pass."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from agents import synthesis
from kshell.harness.cases import CaseFailure, CaseMaker, Reference, shrunk
from kshell.harness.judge import Expected, judge
from semantics.task import Task, Workload

Array = npt.NDArray[Any]
# An input may change an output on some inputs only (a mask, a clamp), so several draws are tried.
_TRIES = 4


def refusal(task: Task, workload: Workload, reference: Reference, seed: int = 0) -> str | None:
    """Why the task is refused, in one line with what to change; None when it can be judged.

    Slow (it runs the reference some dozen times, at sizes shrunk where a call is expensive)."""
    maker = CaseMaker(reference, secret=seed)
    shape = shrunk(task, workload)
    try:
        broken = task.broken_constraint(workload)
        if broken is not None:
            return f"task {task.name}: the sizes violate its constraint {broken}"
        for name in synthesis.distributions(task):
            maker.make(task, shape, name, name, seed)
        return (
            _not_repeatable(task, shape, reference, seed)
            or _passes_trivially(task, shape, maker, seed)
            or _ignored_input(task, shape, reference, seed)
        )
    except (CaseFailure, ValueError) as error:
        return str(error)


def _outputs(
    task: Task, shape: Workload, reference: Reference, inputs: Mapping[str, Array]
) -> dict[str, Array]:
    wide = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in inputs.items()}
    return dict(reference(task, shape, wide))


def _not_repeatable(task: Task, shape: Workload, reference: Reference, seed: int) -> str | None:
    inputs = synthesis.draw(task, shape, "normal", seed)
    first, again = (_outputs(task, shape, reference, inputs) for _ in range(2))
    for name, values in first.items():
        if not np.array_equal(values, again[name]):
            return f"task {task.name}: the reference gives different {name} for the same inputs; fix its seed"
    return None


def _ignored_input(task: Task, shape: Workload, reference: Reference, seed: int) -> str | None:
    """Redraw one input at a time; some output must move by more than its tolerance."""
    for tensor in task.inputs:
        for attempt in range(_TRIES):
            base = synthesis.draw(task, shape, "normal", seed + attempt)
            other = synthesis.draw(task, shape, "shifted", seed + attempt + 1)
            before = _outputs(task, shape, reference, base)
            after = _outputs(task, shape, reference, {**base, tensor.name: other[tensor.name]})
            if any(_differ(task, before[t.name], after[t.name]) for t in task.outputs):
                break
        else:
            return f"task {task.name}: no output depends on the input {tensor.name}; remove the input"
    return None


def _differ(task: Task, a: Array, b: Array) -> bool:
    return judge(b.astype(np.float32), Expected(a), task.tolerance).wrong is not None


def _passes_trivially(task: Task, shape: Workload, maker: CaseMaker, seed: int) -> str | None:
    """Each output must tell zeros, constants and copied inputs from the right answer."""
    cases = [maker.make(task, shape, name, name, seed) for name in ("normal", "uniform", "shifted")]
    for tensor in task.outputs:
        for what in _impostors(cases[0].inputs, cases[0].expected[tensor.name].values):
            fooled = all(
                judge(_impostor(what, case.inputs, expected.values), expected, task.tolerance).wrong is None
                for case in cases
                for expected in (case.expected[tensor.name],)
            )
            if fooled:
                return (
                    f"task {task.name}: {what} pass as {tensor.name}; "
                    "tighten the tolerance or change the reference so that its outputs vary"
                )
    return None


def _impostors(inputs: Mapping[str, Array], output: Array) -> Iterator[str]:
    yield from ("zeros", "ones", "constants")
    for name, values in inputs.items():
        if values.size == output.size:
            yield f"copies of {name}"


def _impostor(what: str, inputs: Mapping[str, Array], output: Array) -> Array:
    if what == "zeros":
        return np.zeros(output.shape, np.float32)
    if what == "ones":
        return np.ones(output.shape, np.float32)
    if what == "constants":
        return np.full(output.shape, np.mean(output), np.float32)
    copied: Array = inputs[what.removeprefix("copies of ")].astype(np.float32).reshape(output.shape)
    return copied
