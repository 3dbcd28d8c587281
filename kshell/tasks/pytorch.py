"""From a KernelBench-style PyTorch file to a Task.

The file defines `Model`, `get_inputs()` and `get_init_inputs()`. Axes are found by experiment: every
module-level integer is raised by one, and the dimensions that follow it are that axis. Parameters of
the module become inputs of the task. The file is the person's own code and runs in this process.
"""

import inspect
import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kshell.errors import UserError
from semantics.axes import evaluate
from semantics.task import Roofline, Task, Tensor, Tolerance, Workload

_PLAIN = ("float32",)


@dataclass(frozen=True, slots=True)
class _Shapes:
    inputs: tuple[tuple[int, ...], ...]
    parameters: dict[str, tuple[int, ...]]
    outputs: tuple[tuple[int, ...], ...]

    def all(self) -> list[tuple[int, ...]]:
        return [*self.inputs, *self.parameters.values(), *self.outputs]


def from_file(path: str | Path) -> Task:
    """The task of a PyTorch file, named after it. Raises UserError saying what the file lacks."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot read the PyTorch file: {error}") from error
    module = _executed(text, path)
    constants = {
        k: v
        for k, v in vars(module).items()
        if type(v) is int and not k.startswith("_") and v > 0 and k.isidentifier()
    }
    base, names, dtypes = _measure(module, path)
    moved = {name: _moved(module, name, value, path) for name, value in constants.items()}
    axes = {n: constants[n] for n, m in moved.items() if m is not None and m.all() != base.all()}
    expressions = _expressions(base, axes, moved)
    for name in _entangled(module, base, axes, expressions, path):
        del axes[name]
        expressions = _expressions(base, axes, moved)
    count, parameters = len(base.inputs), list(base.parameters)
    tensor_names = [*names, *parameters]
    inputs = tuple(
        Tensor(name=n, shape=e, dtype=t)
        for n, e, t in zip(
            tensor_names,
            expressions[: len(tensor_names)],
            [*dtypes, *["float32"] * len(parameters)],
            strict=True,
        )
    )
    results = expressions[count + len(parameters) :]
    outputs = tuple(
        Tensor(name="out" if len(results) == 1 else f"out{i}", shape=e) for i, e in enumerate(results)
    )
    return _finished(Path(path).stem, text, module, axes, inputs, outputs)


def _executed(text: str, path: str | Path) -> Any:
    module = types.ModuleType("kshell_new_task")
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except SyntaxError as error:
        raise UserError(f"{path}:{error.lineno}: not a Python file: {error.msg}") from error
    except Exception as error:
        raise UserError(f"{path}: running the file fails: {type(error).__name__}: {_first(error)}") from error
    finally:
        del sys.modules[module.__name__]
    missing = [n for n in ("Model", "get_inputs", "get_init_inputs") if not hasattr(module, n)]
    if missing:
        raise UserError(f"{path}: the file does not define {missing[0]} (a KernelBench-style file has "
                        "Model, get_inputs and get_init_inputs)")  # fmt: skip
    return module


def _measure(module: Any, path: str | Path) -> tuple[_Shapes, list[str], list[str]]:
    """Shapes at the current constants, names and dtypes of the forward inputs."""
    import torch

    try:
        model = module.Model(*module.get_init_inputs()).eval()
        inputs = module.get_inputs()
        with torch.no_grad():
            result = model(*inputs)
    except Exception as error:
        raise UserError(f"{path}: the model does not run: {type(error).__name__}: {_first(error)}") from error
    outputs = result if isinstance(result, tuple | list) else (result,)
    loose = [v for v in (*inputs, *outputs) if not isinstance(v, torch.Tensor)]
    if loose:
        raise UserError(f"{path}: inputs and outputs must be tensors, found {type(loose[0]).__name__}")
    kinds = [str(v.dtype).removeprefix("torch.") for v in inputs]
    for kind in [*kinds, *(str(v.dtype).removeprefix("torch.") for v in outputs)]:
        if kind not in _PLAIN:
            raise UserError(f"{path}: a tensor has dtype {kind}; this build supports float32")
    parameters = {k.replace(".", "_"): tuple(v.shape) for k, v in model.named_parameters()}
    names = list(inspect.signature(model.forward).parameters)[: len(inputs)]
    shapes = _Shapes(
        tuple(tuple(v.shape) for v in inputs), parameters, tuple(tuple(v.shape) for v in outputs)
    )
    return shapes, names, kinds


def _moved(module: Any, name: str, value: int, path: str | Path) -> _Shapes | None:
    """Shapes with one constant raised by one; None when the model then does not run."""
    setattr(module, name, value + 1)
    try:
        return _measure(module, path)[0]
    except UserError:
        return None
    finally:
        setattr(module, name, value)


def _expressions(
    base: _Shapes, axes: dict[str, int], moved: dict[str, _Shapes | None]
) -> list[tuple[str | int, ...]]:
    return [
        tuple(_expression(size, place, d, axes, moved) for d, size in enumerate(shape))
        for place, shape in enumerate(base.all())
    ]


def _entangled(
    module: Any,
    base: _Shapes,
    axes: dict[str, int],
    expressions: list[tuple[str | int, ...]],
    path: str | Path,
) -> list[str]:
    """Axes whose linear expressions do not hold when all axes change together (a size that is a
    product of two of them); they stay constants of the task."""
    changed = {name: value + 2 + place for place, (name, value) in enumerate(axes.items())}
    vars(module).update(changed)
    try:
        found = _measure(module, path)[0].all()
    except UserError:
        return list(axes)
    finally:
        vars(module).update(axes)
    wrong = {
        str(e)
        for shape, sizes in zip(expressions, found, strict=True)
        for e, size in zip(shape, sizes, strict=True)
        if evaluate(e, changed) != size
    }
    return [name for name in axes if any(name in re.findall(r"\w+", text) for text in wrong)]


def _expression(
    size: int, place: int, dim: int, axes: dict[str, int], moved: dict[str, _Shapes | None]
) -> str | int:
    """The size as an expression of axes: linear in what moves it, or the number itself."""
    steps = {}
    for name in axes:
        found = moved[name]
        assert found is not None
        step = found.all()[place][dim] - size
        if step:
            steps[name] = step
    rest = size - sum(step * axes[name] for name, step in steps.items())
    terms = [name if step == 1 else f"{step}*{name}" for name, step in steps.items()]
    if not terms:
        return size
    text = " + ".join(terms)
    return text if rest == 0 else f"{text} {'+' if rest > 0 else '-'} {abs(rest)}"


def _finished(
    name: str,
    text: str,
    module: Any,
    axes: dict[str, int],
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
) -> Task:
    title = (module.__doc__ or module.Model.__doc__ or name).strip().splitlines()[0]
    draft = Task(
        name=name,
        title=title,
        family="custom",
        axes=axes,
        inputs=inputs,
        outputs=outputs,
        reference=text,
        roofline=Roofline(flops="1", bytes=moved_bytes((*inputs, *outputs))),
    )
    return measured(draft)


def moved_bytes(tensors: tuple[Tensor, ...]) -> str:
    """Bytes of all tensors, as an expression of the axes."""
    return " + ".join("4*" + "*".join(f"({s})" for s in (t.shape or (1,))) for t in tensors)


def measured(draft: Task) -> Task:
    """The task with operations and tolerance from a trace of its reference. Raises Refusal for an
    operation that has no meaning in the spec language."""
    from kshell.tasks.cost import flops_expression, flops_of
    from kshell.tasks.trace import spec_of

    cost = flops_of(spec_of(draft, Workload(axes=draft.axes)))
    tolerance = (
        Tolerance(atol=1e-6, rtol=1e-5, norm_rtol=1e-6)
        if cost.longest == 1
        else Tolerance(atol=1e-5, rtol=1e-4, norm_rtol=1e-5, reduction=str(cost.longest))
    )
    flops = flops_expression(draft.axes, lambda axes: flops_of(spec_of(draft, Workload(axes=axes))).flops)
    roofline = Roofline(flops=flops, bytes=draft.roofline.bytes)
    return draft.model_copy(update={"roofline": roofline, "tolerance": tolerance})


def _first(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else ""
