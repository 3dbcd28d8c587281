"""Kernels over the rows of a matrix: softmax, layernorm, rmsnorm and matrix times vector.

A row operation is a sequence of passes, each one or more folds over the row, and what is written at
the end: every element of the row, or one value. The families differ in who works on a row: a thread,
a warp, a block with a shared tree, a block with shuffles.
"""

from collections.abc import Callable
from dataclasses import dataclass

from semantics.task import Task, Workload

from .collective import Reduction, accumulated, maximum, serial, shared, total, tree, warp_all, warps
from .space import Family, Parameter, Reject, Schedule, accept
from .split import split_family
from .text import block, integer, names, parameters, unit
from .wide import held_family, streamed_family


@dataclass(frozen=True, slots=True)
class Pass:
    """Folds over a row that share one loop, then statements once their results are known."""

    folds: tuple[Reduction, ...]
    after: str = ""


@dataclass(frozen=True, slots=True)
class RowOp:
    """`rows` and `width` are the axes; `element` is written to `out[row * width + j]` with index `@j`,
    or `value` to `out[row]`."""

    rows: str
    width: str
    passes: tuple[Pass, ...]
    element: str = ""
    value: str = ""


_Choose = Callable[[Task, Schedule], RowOp]
_Kernel = Callable[[Task, RowOp, Schedule], tuple[str, str]]


def _finish(task: Task, op: RowOp, first: str, stop: str, step: str, only: str = "") -> str:
    """Writes a thread's share of the row; a single value is written where `only` holds."""
    output = task.outputs[0].name
    if not op.element:
        store = f"{output}[row] = {op.value};"
        return f"if ({only}) {{\n    {store}\n}}" if only else store
    advance = "++j" if step == "1" else f"j += {step}"
    return (
        f"for (int j = {first}; j < {stop}; {advance}) {{\n"
        f"    {output}[row * {op.width} + j] = {op.element.replace('@j', 'j')};\n}}"
    )


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _thread(task: Task, op: RowOp, schedule: Schedule) -> tuple[str, str]:
    ways = integer(schedule["accumulators"])
    work = _lines(
        *(_lines(accumulated(p.folds, op.width, ways), p.after) for p in op.passes),
        _finish(task, op, "0", op.width, "1"),
    )
    kernel = f"int row = blockIdx.x * blockDim.x + threadIdx.x;\nif (row < {op.rows}) {{\n{block(work)}\n}}"
    launch = (
        f"const int threads = {schedule['block']};\n"
        f"dim3 grid(({op.rows} + threads - 1) / threads);\ndim3 block(threads);"
    )
    return kernel, launch


def _warp(task: Task, op: RowOp, schedule: Schedule) -> tuple[str, str]:
    work = _lines(
        *(_lines(serial(p.folds, "lane", op.width, "32"), warp_all(p.folds), p.after) for p in op.passes),
        _finish(task, op, "lane", op.width, "32", "lane == 0"),
    )
    kernel = (
        "int lane = threadIdx.x % 32;\n"
        "int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;\n"
        f"if (row < {op.rows}) {{\n{block(work)}\n}}"
    )
    launch = (
        f"const int threads = {schedule['block']};\n"
        "const int rows_per_block = threads / 32;\n"
        f"dim3 grid(({op.rows} + rows_per_block - 1) / rows_per_block);\ndim3 block(threads);"
    )
    return kernel, launch


def _block_launch(op: RowOp, schedule: Schedule) -> str:
    return f"dim3 grid({op.rows});\ndim3 block({schedule['block']});"


def _span(op: RowOp, schedule: Schedule) -> tuple[str, str, str, str]:
    """(statements, first, stop, step) of a thread's share of a row in a block."""
    if schedule["access"] == "strided":
        return "", "threadIdx.x", op.width, "blockDim.x"
    each = (
        "int t = threadIdx.x;\n"
        f"int each = ({op.width} + blockDim.x - 1) / blockDim.x;\n"
        f"int first = min(t * each, {op.width});\n"
        f"int last = min(first + each, {op.width});"
    )
    return each, "first", "last", "1"


def _block_tree(task: Task, op: RowOp, schedule: Schedule) -> tuple[str, str]:
    return _by_block(task, op, schedule, integer(schedule["block"]), tree, "")


def _block_warps(task: Task, op: RowOp, schedule: Schedule) -> tuple[str, str]:
    start = "int lane = threadIdx.x % 32;\nint warp = threadIdx.x / 32;\nint warps = blockDim.x / 32;"
    return _by_block(task, op, schedule, integer(schedule["block"]) // 32, warps, start)


def _by_block(
    task: Task,
    op: RowOp,
    schedule: Schedule,
    slots: int,
    combine: Callable[[tuple[Reduction, ...]], str],
    start: str,
) -> tuple[str, str]:
    setup, first, stop, step = _span(op, schedule)
    kernel = _lines(
        *dict.fromkeys(shared(p.folds, slots) for p in op.passes),
        "int row = blockIdx.x;",
        start,
        setup,
        *(_lines(serial(p.folds, first, stop, step), combine(p.folds), p.after) for p in op.passes),
        _finish(task, op, first, stop, step, "threadIdx.x == 0"),
    )
    return kernel, _block_launch(op, schedule)


def _emit(choose: _Choose, body: _Kernel) -> Callable[[Task, Workload, Schedule], str]:
    def emit(task: Task, _workload: Workload, schedule: Schedule) -> str:
        op = choose(task, schedule)
        kernel, launch = body(task, op, schedule)
        axes = (op.rows, op.width)
        return unit(
            f"__global__ void {task.name}({parameters(task, axes, restrict=True)}) {{\n{block(kernel)}\n}}",
            f"void launch({parameters(task, tuple(task.axes), restrict=False)}) {{\n{block(launch)}\n"
            f"    {task.name}<<<grid, block>>>({names(task, axes)});\n}}",
        )

    return emit


_BLOCK = Parameter("block", (32, 64, 128, 256, 512, 1024), 256, "threads of a block, a power of two")
_ACCESS = Parameter("access", ("strided", "chunk"), "strided", "elements of a thread: strided or adjacent")
_THREADS = Parameter("block", (1, 32, 64, 128, 256), 64, "rows of a block, one thread each")
_WAYS = Parameter("accumulators", (1, 2, 4, 8, 16, 32), 1, "independent partial results of a thread")


def row_families(
    prefix: str, choose: _Choose, variants: tuple[Parameter, ...] = (), reject: Reject = accept
) -> tuple[Family, ...]:
    """The families of a row operation, plainest first; `variants` are further parameters that `choose`
    reads, `reject` rules out combinations of them."""
    warp_block = Parameter("block", (32, 64, 128, 256, 512), 128, "threads of a block, one warp a row")
    return (
        Family(
            f"{prefix}-thread",
            "one thread a row",
            (_THREADS, _WAYS, *variants),
            _emit(choose, _thread),
            reject,
        ),
        Family(
            f"{prefix}-block-tree",
            "one block a row, shared tree",
            (_BLOCK, _ACCESS, *variants),
            _emit(choose, _block_tree),
            reject,
        ),
        Family(
            f"{prefix}-block-warps",
            "one block a row, shuffles in a warp, then shared",
            (_BLOCK, _ACCESS, *variants),
            _emit(choose, _block_warps),
            reject,
        ),
        Family(f"{prefix}-warp", "one warp a row", (warp_block, *variants), _emit(choose, _warp), reject),
        split_family(prefix, choose, variants, reject),
    )


# ---------------------------------------------------------------- the operations


def _axes(task: Task) -> tuple[str, str]:
    rows, width = task.inputs[0].shape
    return str(rows), str(width)


def _softmax(task: Task, schedule: Schedule) -> RowOp:
    rows, width = _axes(task)
    x = f"{task.inputs[0].name}[row * {width} + @j]"
    power = f"expf({x} - top)"
    if schedule["passes"] == "online":
        online = Reduction(
            {"top": "-INFINITY", "sum": "0.0f"},
            f"float v = {x};\n"
            "float next = fmaxf({top}, v);\n"
            "{sum} = {sum} * expf({top} - next) + expf(v - next);\n"
            "{top} = next;",
            "float next = fmaxf({top}, {top_other});\n"
            "if (next > -INFINITY) {{\n"
            "    {sum} = {sum} * expf({top} - next) + {sum_other} * expf({top_other} - next);\n"
            "    {top} = next;\n"
            "}}",
        )
        passes: tuple[Pass, ...] = (Pass((online,)),)
    else:
        weigh = total("sum", power)
        if schedule["exponentials"] == "keep":
            held = f"{task.outputs[0].name}[row * {width} + @j]"
            weigh = Reduction(
                {"sum": "0.0f"},
                f"float e = {power};\n{held} = e;\n{{sum}} += e;",
                "{sum} += {sum_other};",
            )
            power = held
        passes = (Pass((maximum("top", x),)), Pass((weigh,)))
    if schedule["divide"] == "each":
        return RowOp(rows, width, passes, element=f"{power} / sum")
    scaled = Pass(passes[-1].folds, "float scale = 1.0f / sum;")
    return RowOp(rows, width, (*passes[:-1], scaled), element=f"{power} * scale")


def _layernorm(task: Task, schedule: Schedule) -> RowOp:
    rows, width = _axes(task)
    weight, bias = task.inputs[1].name, task.inputs[2].name
    x = f"{task.inputs[0].name}[row * {width} + @j]"
    mean = f"float mean = sum / {width};"
    scale = "float scale = rsqrtf(var + 1e-5f);"
    if schedule["variance"] == "two-pass":
        centred = Reduction(
            {"square": "0.0f"},
            f"float d = {x} - mean;\n{{square}} += d * d;",
            "{square} += {square_other};",
        )
        passes: tuple[Pass, ...] = (
            Pass((total("sum", x),), mean),
            Pass((centred,), f"float var = square / {width};\n{scale}"),
        )
    else:
        both = Reduction(
            {"sum": "0.0f", "square": "0.0f"},
            f"float v = {x};\n{{sum}} += v;\n{{square}} += v * v;",
            "{sum} += {sum_other};\n{square} += {square_other};",
        )
        var = f"float var = fmaxf(square / {width} - mean * mean, 0.0f);"
        passes = (Pass((both,), f"{mean}\n{var}\n{scale}"),)
    return RowOp(rows, width, passes, element=f"({x} - mean) * scale * {weight}[@j] + {bias}[@j]")


def _rmsnorm(task: Task, _schedule: Schedule) -> RowOp:
    rows, width = _axes(task)
    x = f"{task.inputs[0].name}[row * {width} + @j]"
    after = f"float scale = rsqrtf(square / {width} + 1e-6f);"
    squares = Reduction(
        {"square": "0.0f"}, f"float v = {x};\n{{square}} += v * v;", "{square} += {square_other};"
    )
    return RowOp(
        rows,
        width,
        (Pass((squares,), after),),
        element=f"{x} * scale * {task.inputs[1].name}[@j]",
    )


def _gemv(task: Task, _schedule: Schedule) -> RowOp:
    rows, width = _axes(task)
    matrix, vector = task.inputs[0].name, task.inputs[1].name
    product = total("sum", f"{matrix}[row * {width} + @j] * {vector}[@j]")
    return RowOp(rows, width, (Pass((product,)),), value="sum")


def softmax_families() -> tuple[Family, ...]:
    """Softmax over the last of two axes, shifted by the maximum."""
    passes = Parameter("passes", ("three", "online"), "three", "maximum first, or both in one pass")
    divide = Parameter("divide", ("each", "reciprocal"), "each", "divide, or multiply by 1/sum")
    keep = Parameter(
        "exponentials", ("recompute", "keep"), "recompute", "computed twice, or kept in the output"
    )

    def reject(_task: Task, _workload: Workload, schedule: Schedule) -> str | None:
        both = schedule["passes"] == "online" and schedule["exponentials"] == "keep"
        return "one online pass has no exponentials to keep" if both else None

    variants = (passes, divide, keep)
    quick: Schedule = {"divide": "reciprocal", "exponentials": "keep"}
    return (
        *row_families("softmax", _softmax, variants, reject),
        held_family("softmax", _softmax, variants, reject, quick),
    )


def layernorm_families() -> tuple[Family, ...]:
    """Layer normalisation of a matrix's rows with weight and bias, eps 1e-5."""
    variants = (Parameter("variance", ("two-pass", "one-pass"), "two-pass", "of a row"),)
    return (
        *row_families("layernorm", _layernorm, variants),
        held_family("layernorm", _layernorm, variants, accept, {}),
    )


def rmsnorm_families() -> tuple[Family, ...]:
    """Root-mean-square normalisation of a matrix's rows with weight, eps 1e-6."""
    return (*row_families("rmsnorm", _rmsnorm), held_family("rmsnorm", _rmsnorm, (), accept, {}))


def gemv_families() -> tuple[Family, ...]:
    """Matrix times vector."""
    return (*row_families("gemv", _gemv), streamed_family("gemv", _gemv))
