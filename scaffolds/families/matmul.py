"""Matrix products: naive, shared tiles, register blocks with and without shared tiles.

One description covers gemm, a linear layer (the right operand transposed, a bias added to every row)
and a batch of products (one more axis, on the grid's z).
"""

from collections.abc import Callable
from dataclasses import dataclass

from semantics.axes import evaluate
from semantics.task import Task, Workload

from .collective import accumulated, total
from .panel import panel_bounds, panel_kernel, reject_panel
from .space import (
    MAX_SHARED_BYTES,
    MAX_THREADS,
    Family,
    Parameter,
    Reject,
    Schedule,
    accept,
    too_deep,
)
from .text import block, integer, names, parameters, unit


@dataclass(frozen=True, slots=True)
class Product:
    """`out[row, col] = sum over k of left[row, k] * right[k, col]`, with axis names for the sizes.

    `transposed`: the right operand is stored as `[col, k]`. `bias` is a tensor over `col`."""

    batch: str
    rows: str
    inner: str
    cols: str
    left: str
    right: str
    out: str
    transposed: bool = False
    bias: str = ""

    def a(self, row: str, k: str) -> str:
        """C text of an element of the left operand."""
        return f"{self.left}[{self._row('z', self.rows, row)} * {self.inner} + {k}]"

    def b(self, k: str, col: str) -> str:
        """C text of an element of the right operand."""
        if self.transposed:
            return f"{self.right}[{self._row('z', self.cols, col)} * {self.inner} + {k}]"
        return f"{self.right}[{self._row('z', self.inner, k)} * {self.cols} + {col}]"

    def store(self, row: str, col: str, value: str) -> str:
        """Statement that writes one output."""
        bias = f" + {self.bias}[{col}]" if self.bias else ""
        return f"{self.out}[{self._row('z', self.rows, row)} * {self.cols} + {col}] = {value}{bias};"

    def _row(self, z: str, extent: str, row: str) -> str:
        if self.batch:
            return f"({z} * {extent} + {row})"
        return row if row.isidentifier() else f"({row})"


def product_of(task: Task) -> Product | None:
    """The description of a built-in matrix task; None for any other."""
    shapes = {t.name: tuple(str(s) for s in t.shape) for t in (*task.inputs, *task.outputs)}
    ins = [t.name for t in task.inputs]
    out = task.outputs[0].name
    if task.name == "gemm":
        (rows, inner), (_, cols) = shapes[ins[0]], shapes[ins[1]]
        return Product("", rows, inner, cols, ins[0], ins[1], out)
    if task.name == "linear":
        (rows, inner), (cols, _) = shapes[ins[0]], shapes[ins[1]]
        return Product("", rows, inner, cols, ins[0], ins[1], out, transposed=True, bias=ins[2])
    if task.name == "batch_matmul":
        (batch, rows, inner), (_, _, cols) = shapes[ins[0]], shapes[ins[1]]
        return Product(batch, rows, inner, cols, ins[0], ins[1], out)
    return None


_Kernel = Callable[[Product, Schedule], tuple[str, str]]


def _emit(
    product: Product, body: _Kernel, bounds: Callable[[Schedule], str] = lambda _schedule: ""
) -> Callable[[Task, Workload, Schedule], str]:
    """Source text from a family's kernel body and grid; `bounds` are launch bounds before the name."""

    def emit(task: Task, _workload: Workload, schedule: Schedule) -> str:
        kernel, launch = body(product, schedule)
        axes = tuple(task.axes)
        start = "int z = blockIdx.z;\n" if product.batch else ""
        return unit(
            f"__global__ void {bounds(schedule)}{task.name}({parameters(task, axes, restrict=True)}) {{\n"
            f"{block(start + kernel)}\n}}",
            f"void launch({parameters(task, axes, restrict=False)}) {{\n{block(launch)}\n"
            f"    {task.name}<<<grid, block>>>({names(task, axes)});\n}}",
        )

    return emit


def _launch(product: Product, tile_cols: str, tile_rows: str, x: str, y: str) -> str:
    depth = f", {product.batch}" if product.batch else ""
    return (
        f"dim3 block({x}, {y});\n"
        f"dim3 grid(({product.cols} + {tile_cols} - 1) / {tile_cols}, "
        f"({product.rows} + {tile_rows} - 1) / {tile_rows}{depth});"
    )


def _naive(product: Product, schedule: Schedule) -> tuple[str, str]:
    term = total("sum", f"{product.a('row', '@j')} * {product.b('@j', 'col')}")
    work = accumulated((term,), product.inner, integer(schedule["accumulators"]))
    kernel = (
        "int col = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "int row = blockIdx.y * blockDim.y + threadIdx.y;\n"
        f"if (row < {product.rows} && col < {product.cols}) {{\n"
        f"{block(work)}\n    {product.store('row', 'col', 'sum')}\n}}"
    )
    x, y = str(schedule["block_x"]), str(schedule["block_y"])
    return kernel, _launch(product, x, y, x, y)


def _tiled(product: Product, schedule: Schedule) -> tuple[str, str]:
    tile = integer(schedule["tile"])
    p = product
    b_col = "blockIdx.x * TILE + threadIdx.y" if p.transposed else "col"
    if p.transposed:
        load_b = (
            f"right[threadIdx.x][threadIdx.y] = "
            f"(right_col < {p.cols} && k0 + tx < {p.inner}) ? {p.b('k0 + tx', 'right_col')} : 0.0f;"
        )
    else:
        load_b = f"right[ty][tx] = (k0 + ty < {p.inner} && col < {p.cols}) ? {p.b('k0 + ty', 'col')} : 0.0f;"
    load_b = load_b.replace("threadIdx.x", "tx").replace("threadIdx.y", "ty")
    right_col = f"int right_col = {b_col.replace('threadIdx.y', 'ty')};\n" if p.transposed else ""
    pad = " + 1" if p.transposed else ""
    kernel = (
        "__shared__ float left[TILE][TILE];\n"
        f"__shared__ float right[TILE][TILE{pad}];\n"
        "int tx = threadIdx.x;\nint ty = threadIdx.y;\n"
        "int col = blockIdx.x * TILE + tx;\nint row = blockIdx.y * TILE + ty;\n"
        f"{right_col}"
        "float sum = 0.0f;\n"
        f"for (int k0 = 0; k0 < {p.inner}; k0 += TILE) {{\n"
        f"    left[ty][tx] = (row < {p.rows} && k0 + tx < {p.inner}) ? {p.a('row', 'k0 + tx')} : 0.0f;\n"
        f"    {load_b}\n"
        "    __syncthreads();\n"
        "    for (int k = 0; k < TILE; ++k) {\n"
        "        sum += left[ty][k] * right[k][tx];\n    }\n"
        "    __syncthreads();\n}\n"
        f"if (row < {p.rows} && col < {p.cols}) {{\n    {p.store('row', 'col', 'sum')}\n}}"
    ).replace("TILE", str(tile))
    text = str(tile)
    return kernel, _launch(product, text, text, text, text)


def _patch(product: Product, schedule: Schedule) -> tuple[str, str]:
    """Each thread computes a patch of the output in registers, straight from global memory."""
    p = product
    r, c = integer(schedule["patch_rows"]), integer(schedule["patch_cols"])
    inside = (
        f"float acc[{r}][{c}];\n"
        f"for (int r = 0; r < {r}; ++r) {{\n    for (int c = 0; c < {c}; ++c) {{\n"
        "        acc[r][c] = 0.0f;\n    }\n}\n"
        f"for (int k = 0; k < {p.inner}; ++k) {{\n"
        "    #pragma unroll\n"
        f"    for (int r = 0; r < {r}; ++r) {{\n"
        f"        float a = {p.a('row + r', 'k')};\n"
        "        #pragma unroll\n"
        f"        for (int c = 0; c < {c}; ++c) {{\n"
        f"            acc[r][c] += a * {p.b('k', 'col + c')};\n        }}\n    }}\n}}\n"
        f"for (int r = 0; r < {r}; ++r) {{\n    for (int c = 0; c < {c}; ++c) {{\n"
        f"        {p.store('row + r', 'col + c', 'acc[r][c]')}\n    }}\n}}"
    )
    edge = (
        f"for (int i = row; i < min(row + {r}, {p.rows}); ++i) {{\n"
        f"    for (int j = col; j < min(col + {c}, {p.cols}); ++j) {{\n"
        "        float sum = 0.0f;\n"
        f"        for (int k = 0; k < {p.inner}; ++k) {{\n"
        f"            sum += {p.a('i', 'k')} * {p.b('k', 'j')};\n        }}\n"
        f"        {p.store('i', 'j', 'sum')}\n    }}\n}}"
    )
    kernel = (
        f"int col = (blockIdx.x * blockDim.x + threadIdx.x) * {c};\n"
        f"int row = (blockIdx.y * blockDim.y + threadIdx.y) * {r};\n"
        f"if (row + {r} <= {p.rows} && col + {c} <= {p.cols}) {{\n{block(inside)}\n"
        f"}} else {{\n{block(edge)}\n}}"
    )
    x, y = integer(schedule["block_x"]), integer(schedule["block_y"])
    return kernel, _launch(product, str(x * c), str(y * r), str(x), str(y))


def _blocked(product: Product, schedule: Schedule) -> tuple[str, str]:
    """A block stages tiles of both operands in shared memory; a thread keeps a patch in registers."""
    p = product
    bm, bn, bk = (integer(schedule[name]) for name in ("tile_rows", "tile_cols", "tile_inner"))
    tm = integer(schedule["patch_rows"])
    tn = integer(schedule["patch_cols"])
    threads = (bm // tm) * (bn // tn)
    if p.transposed:
        right = (
            f"int c = e / {bk};\n        int k = e % {bk};\n"
            f"        right[k][c] = (col0 + c < {p.cols} && k0 + k < {p.inner}) "
            f"? {p.b('k0 + k', 'col0 + c')} : 0.0f;"
        )
    else:
        right = (
            f"int k = e / {bn};\n        int c = e % {bn};\n"
            f"        right[k][c] = (k0 + k < {p.inner} && col0 + c < {p.cols}) "
            f"? {p.b('k0 + k', 'col0 + c')} : 0.0f;"
        )
    kernel = (
        f"__shared__ float left[{bk}][{bm}];\n__shared__ float right[{bk}][{bn}];\n"
        f"int t = threadIdx.y * {bn // tn} + threadIdx.x;\n"
        f"int row0 = blockIdx.y * {bm};\nint col0 = blockIdx.x * {bn};\n"
        f"int top = threadIdx.y * {tm};\nint start = threadIdx.x * {tn};\n"
        f"float acc[{tm}][{tn}];\n"
        f"for (int r = 0; r < {tm}; ++r) {{\n    for (int c = 0; c < {tn}; ++c) {{\n"
        "        acc[r][c] = 0.0f;\n    }\n}\n"
        f"for (int k0 = 0; k0 < {p.inner}; k0 += {bk}) {{\n"
        f"    for (int e = t; e < {bm * bk}; e += {threads}) {{\n"
        f"        int r = e / {bk};\n        int k = e % {bk};\n"
        f"        left[k][r] = (row0 + r < {p.rows} && k0 + k < {p.inner}) "
        f"? {p.a('row0 + r', 'k0 + k')} : 0.0f;\n    }}\n"
        f"    for (int e = t; e < {bn * bk}; e += {threads}) {{\n        {right}\n    }}\n"
        "    __syncthreads();\n"
        f"    for (int k = 0; k < {bk}; ++k) {{\n"
        "        #pragma unroll\n"
        f"        for (int r = 0; r < {tm}; ++r) {{\n"
        "            #pragma unroll\n"
        f"            for (int c = 0; c < {tn}; ++c) {{\n"
        "                acc[r][c] += left[k][top + r] * right[k][start + c];\n"
        "            }\n        }\n    }\n"
        "    __syncthreads();\n}\n"
        f"for (int r = 0; r < {tm}; ++r) {{\n    for (int c = 0; c < {tn}; ++c) {{\n"
        "        int row = row0 + top + r;\n        int col = col0 + start + c;\n"
        f"        if (row < {p.rows} && col < {p.cols}) {{\n"
        f"            {p.store('row', 'col', 'acc[r][c]')}\n        }}\n    }}\n}}"
    )
    return kernel, _launch(product, str(bn), str(bm), str(bn // tn), str(bm // tm))


def _panels(product: Product, schedule: Schedule) -> tuple[str, str]:
    bm, bn = integer(schedule["tile_rows"]), integer(schedule["tile_cols"])
    nx, ny = bn // integer(schedule["patch_cols"]), bm // integer(schedule["patch_rows"])
    return panel_kernel(product, schedule), _launch(product, str(bn), str(bm), str(nx), str(ny))


def _reject_threads(_task: Task, _workload: Workload, schedule: Schedule) -> str | None:
    threads = integer(schedule["block_x"]) * integer(schedule["block_y"])
    return f"a block of {threads} threads" if threads > MAX_THREADS else None


def _reject_patch(task: Task, workload: Workload, schedule: Schedule) -> str | None:
    if integer(schedule["patch_rows"]) * integer(schedule["patch_cols"]) > 64:
        return "a patch of more than 64 outputs spills"
    return _reject_threads(task, workload, schedule)


def _reject_blocked(_task: Task, _workload: Workload, schedule: Schedule) -> str | None:
    bm, bn, bk = (integer(schedule[name]) for name in ("tile_rows", "tile_cols", "tile_inner"))
    tm, tn = integer(schedule["patch_rows"]), integer(schedule["patch_cols"])
    threads = (bm // tm) * (bn // tn)
    if tm > bm or tn > bn or not 32 <= threads <= MAX_THREADS:
        return f"a block of {threads} threads"
    if tm * tn > 64:
        return "a patch of more than 64 outputs spills"
    shared = 4 * bk * (bm + bn)
    return f"{shared} bytes of shared memory" if shared > MAX_SHARED_BYTES else None


def _within_grid(product: Product, height: Callable[[Schedule], int], reject: Reject = accept) -> Reject:
    """`reject`, and schedules whose grid is too deep when a block covers `height` rows."""

    def check(task: Task, workload: Workload, schedule: Schedule) -> str | None:
        complaint = reject(task, workload, schedule)
        if complaint is not None:
            return complaint
        rows = evaluate(product.rows, workload.axes)
        depth = evaluate(product.batch, workload.axes) if product.batch else 1
        return too_deep(-(-rows // height(schedule)), depth)

    return check


def matmul_families(product: Product) -> tuple[Family, ...]:
    """The families of a matrix product, plainest first."""
    block_x = Parameter("block_x", (8, 16, 32, 64, 128), 16, "threads of a block along columns")
    block_y = Parameter("block_y", (1, 2, 4, 8, 16, 32), 16, "threads of a block along rows")
    ways = Parameter("accumulators", (1, 2, 4, 8, 16, 32), 1, "independent partial sums")
    patch_rows = Parameter("patch_rows", (1, 2, 4, 8), 2, "rows of a thread's patch")
    patch_cols = Parameter("patch_cols", (1, 2, 4, 8, 16, 32), 4, "columns of a thread's patch")
    return (
        Family(
            "matmul-naive",
            "one output a thread",
            (block_x, block_y, ways),
            _emit(product, _naive),
            _within_grid(product, lambda s: integer(s["block_y"]), _reject_threads),
        ),
        Family(
            "matmul-tiled",
            "one output a thread, square tiles in shared memory",
            (Parameter("tile", (8, 16, 32), 16, "side of a tile and of a block"),),
            _emit(product, _tiled),
            _within_grid(product, lambda s: integer(s["tile"])),
        ),
        Family(
            "matmul-patch",
            "a patch of outputs in a thread's registers, operands from global memory",
            (
                Parameter("block_x", (1, 2, 4, 8, 16, 32), 16, "threads of a block along columns"),
                Parameter("block_y", (1, 2, 4, 8, 16), 8, "threads of a block along rows"),
                patch_rows,
                patch_cols,
            ),
            _emit(product, _patch),
            _within_grid(product, lambda s: integer(s["block_y"]) * integer(s["patch_rows"]), _reject_patch),
        ),
        Family(
            "matmul-blocked",
            "tiles in shared memory, a patch of outputs in a thread's registers",
            (
                Parameter("tile_rows", (16, 32, 64, 128), 32, "rows of a block's tile"),
                Parameter("tile_cols", (16, 32, 64, 128), 32, "columns of a block's tile"),
                Parameter("tile_inner", (4, 8, 16, 32), 8, "depth of a stage"),
                patch_rows,
                Parameter("patch_cols", (1, 2, 4, 8), 4, "columns of a thread's patch"),
            ),
            _emit(product, _blocked),
            _within_grid(product, lambda s: integer(s["tile_rows"]), _reject_blocked),
        ),
        Family(
            "matmul-panels",
            "two buffers of shared panels, float4 loads, a patch of outputs in a thread's registers",
            (
                Parameter("tile_rows", (16, 32, 64, 128), 64, "rows of a block's tile"),
                Parameter("tile_cols", (16, 32, 64, 128), 64, "columns of a block's tile"),
                Parameter("tile_inner", (8, 16, 32, 64), 16, "depth of a stage"),
                Parameter("patch_rows", (1, 2, 4, 8), 4, "rows of a thread's patch"),
                Parameter("patch_cols", (1, 2, 4, 8), 4, "columns of a thread's patch"),
                Parameter("loads", ("single", "float4"), "float4", "floats of a load"),
            ),
            _emit(product, _panels, panel_bounds),
            _within_grid(product, lambda s: integer(s["tile_rows"]), reject_panel),
        ),
    )
