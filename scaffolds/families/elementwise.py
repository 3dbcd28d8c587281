"""Elementwise kernels: guarded, grid-stride, several elements a thread, float4, 2-D."""

from collections.abc import Callable

from semantics.task import Task, Workload

from .pointwise import Pointwise
from .space import MAX_THREADS, Family, Parameter, Schedule, too_deep
from .text import block, integer, names, parameters, shape_axes, unit

BLOCK = Parameter("block", (64, 128, 256, 512, 1024), 256, "threads of a block")
_Body = Callable[[Task, Pointwise, Schedule], tuple[str, str]]


def axes_of(task: Task) -> tuple[str, ...]:
    """Every axis a launcher gets, in the task's order."""
    return tuple(task.axes)


def count(task: Task, workload: Workload) -> int:
    """Elements of the output."""
    total = 1
    for size in task.shapes(workload)[task.outputs[0].name]:
        total *= size
    return total


def _store(task: Task, op: Pointwise, index: str) -> str:
    """Statements that load the inputs at `index` and store the output there."""
    output = task.outputs[0].name
    if all(op.template.count("{" + name + "}") == 1 for name in op.inputs):
        value = op.text(**{name: f"{name}[{index}]" for name in op.inputs})
        return f"{output}[{index}] = {value};"
    local = {name: "v" if len(op.inputs) == 1 else f"v_{name}" for name in op.inputs}
    loads = [f"float {local[name]} = {name}[{index}];" for name in op.inputs]
    return "\n".join([*loads, f"{output}[{index}] = {op.text(**local)};"])


def _emit(op: Pointwise, body: _Body, extra: str = "") -> Callable[[Task, Workload, Schedule], str]:
    """Source text from a family's kernel body and grid; `extra` is a further kernel parameter."""

    def emit(task: Task, _workload: Workload, schedule: Schedule) -> str:
        shape = shape_axes(task.outputs[0])
        size = shape[0] if len(shape) == 1 else "count"
        kernel, launch = body(task, op, schedule)
        signature = parameters(task, (*((extra,) if extra else ()), size), restrict=True)
        arguments = names(task, (*((extra,) if extra else ()), size))
        total = "" if len(shape) == 1 else f"const int count = {' * '.join(shape)};\n"
        return unit(
            f"__global__ void {task.name}({signature}) {{\n{block(kernel.replace('@n', size))}\n}}",
            f"void launch({parameters(task, axes_of(task), restrict=False)}) {{\n"
            f"{block(total + launch.replace('@n', size))}\n"
            f"    {task.name}<<<grid, block>>>({arguments});\n}}",
        )

    return emit


def _grid(threads: int, per_block: str = "threads") -> str:
    lines = [f"const int threads = {threads};"]
    if per_block != "threads":
        lines.append(f"const int per_block = {per_block};")
        per_block = "per_block"
    lines.append(f"dim3 grid((@n + {per_block} - 1) / {per_block});")
    lines.append("dim3 block(threads);")
    return "\n".join(lines)


def _guarded(task: Task, op: Pointwise, schedule: Schedule) -> tuple[str, str]:
    store = _store(task, op, "i")
    kernel = f"int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < @n) {{\n{block(store)}\n}}"
    return kernel, _grid(integer(schedule["block"]))


def _grid_stride(task: Task, op: Pointwise, schedule: Schedule) -> tuple[str, str]:
    store = _store(task, op, "i")
    kernel = (
        "int stride = gridDim.x * blockDim.x;\n"
        "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < @n; i += stride) {\n"
        f"{block(store)}\n}}"
    )
    launch = (
        f"const int threads = {schedule['block']};\n"
        f"const int blocks = {schedule['blocks']};\n"
        "dim3 grid(blocks);\ndim3 block(threads);"
    )
    return kernel, launch


def _unrolled(task: Task, op: Pointwise, schedule: Schedule) -> tuple[str, str]:
    each = integer(schedule["per_thread"])
    kernel = (
        f"int first = blockIdx.x * (blockDim.x * {each}) + threadIdx.x;\n"
        "#pragma unroll\n"
        f"for (int k = 0; k < {each}; ++k) {{\n"
        "    int i = first + k * blockDim.x;\n"
        "    if (i < @n) {\n"
        f"{block(_store(task, op, 'i'), 2)}\n"
        "    }\n}"
    )
    return kernel, _grid(integer(schedule["block"]), f"threads * {each}")


def _contiguous(task: Task, op: Pointwise, schedule: Schedule) -> tuple[str, str]:
    each = integer(schedule["per_thread"])
    kernel = (
        f"int first = (blockIdx.x * blockDim.x + threadIdx.x) * {each};\n"
        f"int last = min(first + {each}, @n);\n"
        "for (int i = first; i < last; ++i) {\n"
        f"{block(_store(task, op, 'i'))}\n}}"
    )
    return kernel, _grid(integer(schedule["block"]), f"threads * {each}")


def _float4(task: Task, op: Pointwise, schedule: Schedule) -> tuple[str, str]:
    output = task.outputs[0].name
    local = {name: "v" if len(op.inputs) == 1 else f"v_{name}" for name in op.inputs}
    loads = [f"float4 {local[name]} = *reinterpret_cast<const float4*>({name} + i);" for name in op.inputs]
    parts = [
        f"r.{part} = {op.text(**{name: f'{local[name]}.{part}' for name in op.inputs})};" for part in "xyzw"
    ]
    body = "\n".join([*loads, "float4 r;", *parts, f"*reinterpret_cast<float4*>({output} + i) = r;"])
    tail = _store(task, op, "j")
    guarded = (
        f"if (i + 3 < @n) {{\n{block(body)}\n"
        f"}} else {{\n    for (int j = i; j < @n; ++j) {{\n{block(tail, 2)}\n    }}\n}}"
    )
    each = integer(schedule["vectors"])
    if each == 1:
        kernel = f"int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;\n{guarded}"
        return kernel, _grid(integer(schedule["block"]), "threads * 4")
    kernel = (
        f"int first = blockIdx.x * (blockDim.x * {each}) + threadIdx.x;\n"
        "#pragma unroll\n"
        f"for (int k = 0; k < {each}; ++k) {{\n"
        f"    int i = (first + k * blockDim.x) * 4;\n{block(guarded)}\n}}"
    )
    return kernel, _grid(integer(schedule["block"]), f"threads * {4 * each}")


def _two_d(task: Task, op: Pointwise, schedule: Schedule) -> tuple[str, str]:
    kernel = (
        "int column = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "int row = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "int i = row * width + column;\n"
        f"if (column < width && i < @n) {{\n{block(_store(task, op, 'i'))}\n}}"
    )
    x, y = integer(schedule["block_x"]), integer(schedule["block_y"])
    launch = (
        f"const int width = {schedule['width']};\n"
        "const int rows = (@n + width - 1) / width;\n"
        f"dim3 block({x}, {y});\n"
        f"dim3 grid((width + {x} - 1) / {x}, (rows + {y} - 1) / {y});"
    )
    return kernel, launch


def _wasteful(per_block: Callable[[Schedule], int]) -> Callable[[Task, Workload, Schedule], str | None]:
    """Rejects schedules in which more than one block finds nothing to do."""

    def reject(task: Task, workload: Workload, schedule: Schedule) -> str | None:
        spare = per_block(schedule) - count(task, workload)
        smallest = schedule["block"] == BLOCK.choices[0]
        return None if spare <= 0 or smallest else f"{spare} elements more than there are"

    return reject


def _reject_two_d(task: Task, workload: Workload, schedule: Schedule) -> str | None:
    x, y, width = (integer(schedule[name]) for name in ("block_x", "block_y", "width"))
    if x * y > MAX_THREADS:
        return f"a block of {x * y} threads"
    if x > width:
        return f"a block wider than {width}"
    return too_deep(-(-count(task, workload) // (width * y)), 1)


def elementwise_families(op: Pointwise) -> tuple[Family, ...]:
    """The families of a pointwise function, plainest first."""
    per_thread = Parameter("per_thread", (2, 4, 8, 16), 4, "elements of a thread")
    chunk = Parameter("per_thread", (4, 8, 16, 32, 64, 128, 256), 16, "adjacent elements of a thread")
    blocks = Parameter("blocks", (8, 16, 32, 64, 132, 264, 528), 64, "blocks of the grid")
    return (
        Family(
            "elementwise-guarded",
            "one element a thread",
            (BLOCK,),
            _emit(op, _guarded),
        ),
        Family(
            "elementwise-grid-stride",
            "a fixed grid that strides over the elements",
            (BLOCK, blocks),
            _emit(op, _grid_stride),
            _wasteful(lambda s: integer(s["block"]) * integer(s["blocks"])),
        ),
        Family(
            "elementwise-unrolled",
            "several elements a thread, one block apart",
            (BLOCK, per_thread),
            _emit(op, _unrolled),
            _wasteful(lambda s: integer(s["block"]) * integer(s["per_thread"])),
        ),
        Family(
            "elementwise-float4",
            "four adjacent elements a thread through float4, scalar tail",
            (BLOCK, Parameter("vectors", (1, 2, 4), 1, "float4 of a thread, one block apart")),
            _emit(op, _float4),
            _wasteful(lambda s: integer(s["block"]) * integer(s["vectors"]) * 4),
        ),
        Family(
            "elementwise-contiguous",
            "a run of adjacent elements a thread",
            (BLOCK, chunk),
            _emit(op, _contiguous),
            _wasteful(lambda s: integer(s["block"]) * integer(s["per_thread"])),
        ),
        Family(
            "elementwise-2d",
            "a two-dimensional grid over rows of a fixed width",
            (
                Parameter("block_x", (16, 32, 64, 128), 32, "threads of a block along a row"),
                Parameter("block_y", (1, 2, 4, 8, 16), 8, "threads of a block across rows"),
                Parameter("width", (128, 256, 512, 1024), 256, "elements of a row"),
            ),
            _emit(op, _two_d, extra="width"),
            _reject_two_d,
        ),
    )
