"""From a PyTorch reference to the tensor spec language, through `torch.fx`.

Every operation of the trace is given its mathematical meaning as an index function. The table is
closed: an operation that is not in it is refused with its name. Meanings follow the PyTorch
documentation of each function; float constants denote the shortest decimal that rounds to the same
float32, as they do in kernels.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kshell.paths import cache
from kshell.tasks.operations import OPERATIONS, Sym, Tracer, constant
from kshell.tasks.reference import ReferenceFailure, module_of
from semantics import spec_json
from semantics.span import Refusal
from semantics.spec import IxVar, OutputSpec, Read, Spec
from semantics.task import Task, Workload


@dataclass(frozen=True)
class _Node:
    """What the table needs to know of an fx node."""

    key: str
    label: str


def _key(node: Any) -> _Node:
    if node.op == "call_function":
        name = getattr(node.target, "__name__", str(node.target))
        return _Node(name, name)
    if node.op == "call_method":
        return _Node(str(node.target), f"Tensor.{node.target}")
    raise Refusal(f"the reference uses {node.op} {node.target!r}, which has no meaning in the spec language")


def _resolve(value: Any, found: dict[Any, Any]) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_resolve(v, found) for v in value)
    if isinstance(value, dict):
        return {k: _resolve(v, found) for k, v in value.items()}
    return found.get(value, value) if hasattr(value, "op") else value


def spec_of(task: Task, workload: Workload) -> Spec:
    """Trace the reference at a workload. Raises Refusal for an operation outside the table."""
    import torch.fx

    class _Flat(torch.fx.Tracer):
        """Traces through the modules of torch too, so that only functions remain."""

        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return False

    shapes = task.shapes(workload)
    module = module_of(task, workload)
    try:
        graph = _Flat().trace(module)
    except Exception as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Refusal(f"the reference of task {task.name} cannot be traced: {message}") from error
    tracer = Tracer()
    found: dict[Any, Any] = {}
    inputs = iter(task.inputs)
    result: Any = None
    for node in graph.nodes:
        if node.op == "placeholder":
            tensor = next(inputs, None)
            if tensor is None:
                raise Refusal(f"the reference of task {task.name} takes more inputs than the task names")
            found[node] = _input(tensor.name, shapes[tensor.name])
        elif node.op == "get_attr":
            found[node] = _attribute(module, str(node.target), shapes)
        elif node.op == "output":
            result = _resolve(node.args[0], found)
        else:
            key = _key(node)
            meaning: Callable[..., Any] | None = OPERATIONS.get(key.key)
            if meaning is None:
                raise Refusal(
                    f"the reference uses {key.label}, which has no meaning in the spec language yet"
                )
            found[node] = meaning(tracer, *_resolve(node.args, found), **_resolve(node.kwargs, found))
    outputs = result if isinstance(result, tuple) else (result,)
    if len(outputs) != len(task.outputs):
        raise Refusal(f"the reference returns {len(outputs)} outputs, the task names {len(task.outputs)}")
    return Spec(
        inputs={t.name: shapes[t.name] for t in task.inputs},
        outputs=tuple(_output(t.name, shapes[t.name], o) for t, o in zip(task.outputs, outputs, strict=True)),
    )


def _attribute(module: Any, target: str, shapes: dict[str, tuple[int, ...]]) -> Sym:
    """A number kept by the module, or a parameter that is an input of the task."""
    value: Any = module
    for part in target.split("."):
        value = getattr(value, part)
    name = target.replace(".", "_")
    if name in shapes:
        return _input(name, shapes[name])
    if isinstance(value, float | int):
        return constant(value)
    raise Refusal(f"the reference keeps the tensor {target!r}; make it an input")


def _input(name: str, shape: tuple[int, ...]) -> Sym:
    return Sym(shape, lambda at: Read(name, at))


def _output(name: str, shape: tuple[int, ...], value: Sym) -> OutputSpec:
    if value.shape != shape:
        raise Refusal(f"the reference gives {name} the shape {value.shape}, the task says {shape}")
    names = tuple(f"i{d}" for d in range(len(shape)))
    return OutputSpec(name, names, shape, value.at(tuple(IxVar(n) for n in names)))


def cached_spec(task: Task, workload: Workload) -> Spec:
    """`spec_of`, kept on disk by content: a second call does not import torch."""
    axes = sorted(workload.axes.items())
    sources = "".join(_own_text(n) for n in ("trace.py", "operations.py"))
    text = f"{task.model_dump_json()}|{axes}|{sources}"
    path = cache() / "specs" / f"{hashlib.sha256(text.encode()).hexdigest()}.json"
    if path.exists():
        try:
            return spec_json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            path.unlink(missing_ok=True)
    try:
        result = _traced(task, workload)
    except ReferenceFailure as error:
        raise Refusal(str(error)) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{id(result):x}.tmp")
    temporary.write_text(spec_json.dumps(result), encoding="utf-8")
    temporary.replace(path)
    return result


def _traced(task: Task, workload: Workload) -> Spec:
    """The spec, traced in the child process when references run there."""
    from kshell.tasks import child

    chosen = child.chosen()
    return spec_of(task, workload) if chosen is None else chosen.spec_of(task, workload)


def _own_text(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
