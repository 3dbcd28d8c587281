"""Running a task's PyTorch reference. torch is imported on the first call."""

import sys
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semantics.task import Task, Workload

if TYPE_CHECKING:
    from kshell.tasks.child import Child

Array = npt.NDArray[Any]


class ReferenceFailure(Exception):
    """The reference cannot be loaded or run; the message is one line."""


def module_of(task: Task, workload: Workload) -> Any:
    """The task's `Model` at a workload: module-level constants named like axes take its values.

    Raises ReferenceFailure when the file does not define what it must."""
    module = types.ModuleType(f"kshell_reference_{task.name}")
    sys.modules[module.__name__] = module  # dataclasses and fx look modules up by name
    try:
        exec(compile(task.reference, f"<reference of {task.name}>", "exec"), module.__dict__)
        module.__dict__.update(workload.axes)
        return module.Model(*module.get_init_inputs())
    except Exception as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ReferenceFailure(f"the reference of task {task.name} does not load: {message}") from error
    finally:
        del sys.modules[module.__name__]


def _child() -> "Child | None":
    from kshell.tasks import child

    return child.chosen()


def compute(
    task: Task, workload: Workload, arrays: Mapping[str, Array], device: str = "cpu"
) -> dict[str, Array]:
    """Outputs of the reference in float64, by output name, computed by torch on `device`.

    `arrays` holds every input by name at the workload's shapes. Raises ReferenceFailure."""
    if (child := _child()) is not None:
        return child.compute(task, workload, arrays, device)
    import torch

    model = module_of(task, workload).double().eval().to(device)
    tensors = {
        t.name: torch.from_numpy(np.ascontiguousarray(arrays[t.name], dtype=np.float64)).to(device)
        for t in task.inputs
    }
    for key, parameter in model.named_parameters():
        name = key.replace(".", "_")
        if name not in tensors:
            raise ReferenceFailure(f"the reference of task {task.name} keeps {key!r}; make it an input")
        parameter.data = tensors.pop(name)
    inputs = list(tensors.values())
    try:
        with torch.no_grad():
            result = model(*inputs)
    except Exception as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ReferenceFailure(f"the reference of task {task.name} fails: {message}") from error
    outputs = result if isinstance(result, tuple | list) else (result,)
    if len(outputs) != len(task.outputs):
        raise ReferenceFailure(
            f"the reference of task {task.name} returns {len(outputs)} outputs, "
            f"the task names {len(task.outputs)}"
        )
    shapes = task.shapes(workload)
    found: dict[str, Array] = {}
    for tensor, output in zip(task.outputs, outputs, strict=True):
        if tuple(output.shape) != shapes[tensor.name]:
            raise ReferenceFailure(
                f"the reference of task {task.name} returns {tensor.name} with shape {tuple(output.shape)}, "
                f"the task says {shapes[tensor.name]}"
            )
        found[tensor.name] = output.cpu().numpy()
    return found
