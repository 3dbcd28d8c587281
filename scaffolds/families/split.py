"""Row operations whose rows are split over many threads, one kernel a pass, no barriers.

Few long rows leave most of a device idle when a block has a whole row. Here `splits` threads share a
row; each writes its partial result to a workspace, and the next kernel folds the partial results.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from semantics.task import Task, Workload

from .collective import Reduction, serial, states
from .space import Family, Parameter, Reject, Schedule, accept
from .text import block, integer, names, parameters, unit

if TYPE_CHECKING:
    from .rows import Pass, RowOp

_SPLITS = Parameter("splits", (16, 32, 64, 128, 256, 512), 64, "threads that share a row")
_BLOCK = Parameter("block", (16, 32, 64, 128, 256), 64, "threads of a block")
_ACCESS = Parameter("access", ("strided", "chunk"), "strided", "elements of a thread: strided or adjacent")


def _gather(pass_: "Pass", splits: int) -> str:
    """Folds the partial results of a finished pass: every thread ends with the row's result."""
    lines = [fold.declared() for fold in pass_.folds]
    folds = "\n".join(f.merged(lambda name: f"part_{name}[row * {splits} + p]") for f in pass_.folds)
    lines.append(f"for (int p = 0; p < {splits}; ++p) {{\n{block(folds)}\n}}")
    return "\n".join([*lines, pass_.after]) if pass_.after else "\n".join(lines)


def _share(op: "RowOp", schedule: Schedule) -> tuple[str, str, str, str]:
    """(statements, first, stop, step) of a thread's share of a row."""
    splits = integer(schedule["splits"])
    if schedule["access"] == "strided":
        return "", "s", op.width, str(splits)
    bounds = (
        f"int each = ({op.width} + {splits - 1}) / {splits};\n"
        f"int first = min(s * each, {op.width});\n"
        f"int last = min(first + each, {op.width});"
    )
    return bounds, "first", "last", "1"


def _kernel(task: Task, op: "RowOp", name: str, arrays: str, body: str) -> str:
    signature = parameters(task, (op.rows, op.width), restrict=True)
    return f"__global__ void {name}({signature}, {arrays}) {{\n{block(body)}\n}}"


def _threads(op: "RowOp", splits: int, body: str) -> str:
    return (
        "int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"int row = t / {splits};\nint s = t % {splits};\n"
        f"if (row < {op.rows}) {{\n{block(body)}\n}}"
    )


def _pass_kernels(task: Task, op: "RowOp", schedule: Schedule) -> list[tuple[str, str]]:
    """(name, text) of the kernel of each pass."""
    splits = integer(schedule["splits"])
    setup, first, stop, step = _share(op, schedule)
    made = []
    for place, pass_ in enumerate(op.passes):
        folds: tuple[Reduction, ...] = pass_.folds
        store = "\n".join(f"part_{name}[row * {splits} + s] = {name};" for name in states(folds))
        earlier = [_gather(p, splits) for p in op.passes[:place]]
        body = "\n".join(part for part in (*earlier, setup, serial(folds, first, stop, step), store) if part)
        name = f"{task.name}_{states(folds)[0]}"
        made.append((name, _kernel(task, op, name, _arrays(op, place), _threads(op, splits, body))))
    return made


def _arrays(op: "RowOp", place: int) -> str:
    """Workspace parameters of the kernel of pass `place`: it reads those of earlier passes."""
    done = [name for p in op.passes[:place] for name in states(p.folds)]
    own = states(op.passes[place].folds) if place < len(op.passes) else ()
    listed = [f"const float* __restrict__ part_{name}" for name in done]
    return ", ".join([*listed, *(f"float* __restrict__ part_{name}" for name in own)])


def _last_kernel(task: Task, op: "RowOp", schedule: Schedule) -> tuple[str, str]:
    splits = integer(schedule["splits"])
    name = f"{task.name}_write"
    output = task.outputs[0].name
    gathered = "\n".join(_gather(p, splits) for p in op.passes)
    if op.value:
        body = (
            "int row = blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"if (row < {op.rows}) {{\n{block(gathered)}\n    {output}[row] = {op.value};\n}}"
        )
    else:
        setup, first, stop, step = _share(op, schedule)
        advance = "++j" if step == "1" else f"j += {step}"
        write = (
            f"for (int j = {first}; j < {stop}; {advance}) {{\n"
            f"    {output}[row * {op.width} + j] = {op.element.replace('@j', 'j')};\n}}"
        )
        body = _threads(op, splits, "\n".join(part for part in (gathered, setup, write) if part))
    return name, _kernel(task, op, name, _arrays(op, len(op.passes)), body)


def split_family(
    prefix: str,
    choose: "Callable[[Task, Schedule], RowOp]",
    variants: tuple[Parameter, ...] = (),
    reject: Reject = accept,
) -> Family:
    """The family of a row operation with split rows; `variants` are parameters that `choose` reads,
    `reject` rules out combinations of them."""

    def emit(task: Task, _workload: Workload, schedule: Schedule) -> str:
        op = choose(task, schedule)
        kernels = _pass_kernels(task, op, schedule)
        last, text = _last_kernel(task, op, schedule)
        arguments = names(task, (op.rows, op.width))
        held: list[str] = []
        calls = []
        for (name, _), pass_ in zip(kernels, op.passes, strict=True):
            held += states(pass_.folds)
            calls.append(f"{name}<<<grid, block>>>({arguments}, {', '.join(f'part_{h}' for h in held)});")
        grid = "rows_grid" if op.value else "grid"
        calls.append(f"{last}<<<{grid}, block>>>({arguments}, {', '.join(f'part_{h}' for h in held)});")
        lines = [
            f"const int threads = {schedule['block']};",
            f"const int workers = {op.rows} * {schedule['splits']};",
            *(f"float* part_{name} = KSHELL_WORKSPACE(float, workers);" for name in held),
            "dim3 grid((workers + threads - 1) / threads);",
            *([f"dim3 rows_grid(({op.rows} + threads - 1) / threads);"] if op.value else []),
            "dim3 block(threads);",
            *calls,
        ]
        signature = parameters(task, tuple(task.axes), restrict=False)
        launcher = f"void launch({signature}) {{\n{block(chr(10).join(lines))}\n}}"
        return unit(*(k for _, k in kernels), text, launcher)

    return Family(
        f"{prefix}-split",
        "rows split over threads, one kernel a pass, partial results in a workspace",
        (_BLOCK, _SPLITS, _ACCESS, *variants),
        emit,
        reject,
    )
