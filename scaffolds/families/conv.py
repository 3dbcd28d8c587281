"""Direct convolutions: square images and filters, stride 1, zero padding, bias; plain and depthwise."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from semantics.task import Task, Workload

from .conv_channels import channels_kernel, reject_channels
from .space import MAX_SHARED_BYTES, MAX_THREADS, Family, Parameter, Reject, Schedule, too_deep
from .text import block, integer, names, parameters, unit


@dataclass(frozen=True, slots=True)
class Convolution:
    """Names of the axes and tensors; `inputs` is empty for a depthwise convolution, in which an output
    channel sees only its own input channel."""

    batch: str
    inputs: str
    outputs: str
    size: str
    filter: str
    pad: str
    x: str
    weight: str
    bias: str
    y: str

    def sum_over_inputs(self, body: str) -> str:
        """`body` for every input channel `ci` of the sum."""
        if not self.inputs:
            return body
        return f"for (int ci = 0; ci < {self.inputs}; ++ci) {{\n{block(body)}\n}}"

    @property
    def planes(self) -> str:
        """Statements that name the image plane `plane` (of x) from the output plane `z`."""
        if not self.inputs:
            return f"int co = z % {self.outputs};\n"
        return f"int co = z % {self.outputs};\nint image = z / {self.outputs};\n"

    def pixel(self, row: str, column: str) -> str:
        """C text of an input element; `row` and `column` are simple or additive."""
        plane = f"(image * {self.inputs} + ci)" if self.inputs else "z"
        return f"{self.x}[({plane} * {self.size} + {row}) * {self.size} + {column}]"

    @property
    def tap(self) -> str:
        """C text of the filter element at (ky, kx)."""
        k = self.filter
        filter_ = f"(co * {self.inputs} + ci)" if self.inputs else "co"
        return f"{self.weight}[({filter_} * {k} + ky) * {k} + kx]"

    def store(self, column: str, value: str) -> str:
        """Statement that writes one output of row `oy`."""
        return f"{self.y}[(z * side + oy) * side + {column}] = {value} + {self.bias}[co];"


def convolution_of(task: Task) -> Convolution | None:
    """The description of a built-in convolution task; None for any other."""
    if task.name not in ("conv2d", "depthwise_conv"):
        return None
    x, weight, bias = task.inputs
    batch, channels, size, _ = (str(s) for s in x.shape)
    plain = task.name == "conv2d"
    return Convolution(
        batch=batch,
        inputs=channels if plain else "",
        outputs=str(weight.shape[0]),
        size=size,
        filter=str(weight.shape[2]),
        pad="pad",
        x=x.name,
        weight=weight.name,
        bias=bias.name,
        y=task.outputs[0].name,
    )


_Kernel = Callable[[Convolution, Schedule], tuple[str, str, str]]
"""Kernel body, launcher lines, shared bytes of the launch (empty for none)."""


def _emit(conv: Convolution, body: _Kernel) -> Callable[[Task, Workload, Schedule], str]:
    def emit(task: Task, _workload: Workload, schedule: Schedule) -> str:
        kernel, launch, bytes_ = body(conv, schedule)
        axes = (*task.axes, "side")
        side = f"const int side = {conv.size} + 2 * {conv.pad} - {conv.filter} + 1;"
        geometry = "grid, block" + (f", {bytes_}" if bytes_ else "")
        return unit(
            f"__global__ void {task.name}({parameters(task, axes, restrict=True)}) {{\n{block(kernel)}\n}}",
            f"void launch({parameters(task, tuple(task.axes), restrict=False)}) {{\n"
            f"    {side}\n{block(launch)}\n"
            f"    {task.name}<<<{geometry}>>>({names(task, axes)});\n}}",
        )

    return emit


def _taps(conv: Convolution, padding: str) -> str:
    """The sum of one output at (oy, ox), over filter elements that meet the image."""
    c = conv
    term = f"sum += {c.pixel('iy', 'ix')} * {c.tap};"
    place = f"int iy = oy + ky - {c.pad};\nint ix = ox + kx - {c.pad};"
    if padding == "tests":
        inner = (
            f"for (int ky = 0; ky < {c.filter}; ++ky) {{\n"
            f"    for (int kx = 0; kx < {c.filter}; ++kx) {{\n{block(place, 2)}\n"
            f"        if (iy >= 0 && iy < {c.size} && ix >= 0 && ix < {c.size}) {{\n"
            f"            {term}\n        }}\n    }}\n}}"
        )
        return f"float sum = 0.0f;\n{c.sum_over_inputs(inner)}"
    inner = (
        "for (int ky = ky0; ky < ky1; ++ky) {\n"
        f"    for (int kx = kx0; kx < kx1; ++kx) {{\n{block(place, 2)}\n        {term}\n    }}\n}}"
    )
    return (
        f"{_bounds(c, 'ky', 'oy')}\n{_bounds(c, 'kx', 'ox')}\nfloat sum = 0.0f;\n{c.sum_over_inputs(inner)}"
    )


def _bounds(conv: Convolution, name: str, out: str) -> str:
    return (
        f"int {name}0 = max(0, {conv.pad} - {out});\n"
        f"int {name}1 = min({conv.filter}, {conv.size} + {conv.pad} - {out});"
    )


def _flat(conv: Convolution, schedule: Schedule) -> tuple[str, str, str]:
    work = (
        "int ox = i % side;\nint oy = i / side % side;\nint z = i / (side * side);\n"
        f"{conv.planes}{_taps(conv, str(schedule['padding']))}\n{conv.store('ox', 'sum')}"
    )
    kernel = (
        "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"if (i < {conv.batch} * {conv.outputs} * side * side) {{\n{block(work)}\n}}"
    )
    launch = (
        f"const int threads = {schedule['block']};\n"
        f"const int count = {conv.batch} * {conv.outputs} * side * side;\n"
        "dim3 grid((count + threads - 1) / threads);\ndim3 block(threads);"
    )
    return kernel, launch, ""


def _plane_grid(conv: Convolution, schedule: Schedule, columns: int = 1) -> str:
    x, y = integer(schedule["block_x"]), integer(schedule["block_y"])
    return (
        f"dim3 block({x}, {y});\n"
        f"dim3 grid((side + {x * columns} - 1) / {x * columns}, (side + {y} - 1) / {y}, "
        f"{conv.batch} * {conv.outputs});"
    )


def _planes(conv: Convolution, schedule: Schedule) -> tuple[str, str, str]:
    work = f"{conv.planes}{_taps(conv, str(schedule['padding']))}\n{conv.store('ox', 'sum')}"
    kernel = (
        "int ox = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "int oy = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "int z = blockIdx.z;\n"
        f"if (oy < side && ox < side) {{\n{block(work)}\n}}"
    )
    return kernel, _plane_grid(conv, schedule), ""


def _strip(conv: Convolution, schedule: Schedule) -> tuple[str, str, str]:
    """Each thread computes adjacent outputs of a row, without tests where its window is inside."""
    c = conv
    wide = integer(schedule["columns"])
    inner = (
        "for (int ky = ky0; ky < ky1; ++ky) {\n"
        f"    int iy = oy + ky - {c.pad};\n"
        f"    for (int kx = 0; kx < {c.filter}; ++kx) {{\n"
        f"        float w = {c.tap};\n"
        "        #pragma unroll\n"
        f"        for (int q = 0; q < {wide}; ++q) {{\n"
        f"            acc[q] += {c.pixel('iy', f'first + q + kx - {c.pad}')} * w;\n"
        "        }\n    }\n}"
    )
    inside = (
        f"{_bounds(c, 'ky', 'oy')}\n"
        f"float acc[{wide}];\n"
        f"for (int q = 0; q < {wide}; ++q) {{\n    acc[q] = 0.0f;\n}}\n"
        f"{c.sum_over_inputs(inner)}\n"
        f"for (int q = 0; q < {wide}; ++q) {{\n    {c.store('first + q', 'acc[q]')}\n}}"
    )
    edge = (
        f"for (int ox = first; ox < min(first + {wide}, side); ++ox) {{\n"
        f"{block(_taps(c, 'bounds'))}\n    {c.store('ox', 'sum')}\n}}"
    )
    work = (
        f"{c.planes}"
        f"if (first >= {c.pad} && first + {wide - 1} + {c.filter} - {c.pad} <= {c.size}) {{\n"
        f"{block(inside)}\n}} else {{\n{block(edge)}\n}}"
    )
    kernel = (
        f"int first = (blockIdx.x * blockDim.x + threadIdx.x) * {wide};\n"
        "int oy = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "int z = blockIdx.z;\n"
        f"if (oy < side && first < side) {{\n{block(work)}\n}}"
    )
    return kernel, _plane_grid(conv, schedule, wide), ""


def _halo(conv: Convolution, schedule: Schedule) -> tuple[str, str, str]:
    """A block stages its window of one input plane, halo included, in shared memory."""
    c = conv
    x, y = integer(schedule["block_x"]), integer(schedule["block_y"])
    load = (
        f"for (int e = threadIdx.y * {x} + threadIdx.x; e < wide * high; e += {x * y}) {{\n"
        f"    int iy = top + e / wide - {c.pad};\n    int ix = left + e % wide - {c.pad};\n"
        f"    bool inside = iy >= 0 && iy < {c.size} && ix >= 0 && ix < {c.size};\n"
        f"    window[e] = inside ? {c.pixel('iy', 'ix')} : 0.0f;\n}}"
    )
    taps = (
        f"for (int ky = 0; ky < {c.filter}; ++ky) {{\n    for (int kx = 0; kx < {c.filter}; ++kx) {{\n"
        f"        sum += window[(threadIdx.y + ky) * wide + threadIdx.x + kx] * {c.tap};\n    }}\n}}"
    )
    again = "\n__syncthreads();" if c.inputs else ""
    staged = c.sum_over_inputs(f"{load}\n__syncthreads();\n{taps}{again}")
    kernel = (
        "extern __shared__ float window[];\n"
        "int ox = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "int oy = blockIdx.y * blockDim.y + threadIdx.y;\n"
        f"int z = blockIdx.z;\n{c.planes}"
        f"int wide = {x} + {c.filter} - 1;\nint high = {y} + {c.filter} - 1;\n"
        f"int left = blockIdx.x * {x};\nint top = blockIdx.y * {y};\n"
        f"float sum = 0.0f;\n{staged}\n"
        f"if (oy < side && ox < side) {{\n    {c.store('ox', 'sum')}\n}}"
    )
    bytes_ = f"({x} + {c.filter} - 1) * ({y} + {c.filter} - 1) * 4"
    return kernel, _plane_grid(conv, schedule), bytes_


def _reject(conv: Convolution, staged: bool = False) -> Reject:
    """Rejects blocks with too many threads, grids that are too deep and, for kernels that stage a window,
    too much shared memory."""

    def reject(_task: Task, workload: Workload, schedule: Schedule) -> str | None:
        x, y = integer(schedule["block_x"]), integer(schedule["block_y"])
        if x * y > MAX_THREADS:
            return f"a block of {x * y} threads"
        axes = workload.axes
        halo = axes[conv.filter] - 1
        bytes_ = 4 * (x + halo) * (y + halo) if staged else 0
        if bytes_ > MAX_SHARED_BYTES:
            return f"{bytes_} bytes of shared memory"
        side = axes[conv.size] + 2 * axes[conv.pad] - halo
        return too_deep(-(-side // y), axes[conv.batch] * axes[conv.outputs])

    return reject


def convolution_families(conv: Convolution) -> tuple[Family, ...]:
    """The families of a direct convolution, plainest first."""
    padding = Parameter("padding", ("tests", "bounds"), "tests", "test each tap, or bound the loops")
    block_x = Parameter("block_x", (4, 8, 16, 32, 64), 16, "threads of a block along a row")
    block_y = Parameter("block_y", (1, 2, 4, 8, 16, 32), 8, "threads of a block across rows")
    by_channels = Family(
        "conv-channels",
        "halo and taps in shared memory, output channels by columns in a thread's registers",
        (
            Parameter("block_x", (8, 16, 32), 16, "threads of a block along a row"),
            Parameter("block_y", (2, 4, 8, 16), 8, "threads of a block across rows"),
            Parameter("channels", (1, 2, 4, 8, 16), 4, "output channels of a thread"),
            Parameter("columns", (1, 2, 4, 8), 2, "outputs of a thread along a row"),
            Parameter("depth", (1, 2, 4, 8), 2, "input channels of a stage"),
        ),
        _emit(conv, channels_kernel),
        partial(reject_channels, conv),
    )
    return (
        Family(
            "conv-flat",
            "one output a thread, one-dimensional grid",
            (Parameter("block", (32, 64, 128, 256, 512), 128, "threads of a block"), padding),
            _emit(conv, _flat),
        ),
        Family(
            "conv-planes",
            "one output a thread, blocks over a plane",
            (block_x, block_y, padding),
            _emit(conv, _planes),
            _reject(conv),
        ),
        Family(
            "conv-strip",
            "adjacent outputs of a row in a thread's registers",
            (
                Parameter("block_x", (1, 2, 4, 8, 16), 4, "threads of a block along a row"),
                block_y,
                Parameter("columns", (2, 4, 8, 16), 4, "outputs of a thread"),
            ),
            _emit(conv, _strip),
            _reject(conv),
        ),
        Family(
            "conv-halo",
            "window with its halo in shared memory",
            (block_x, block_y),
            _emit(conv, _halo),
            _reject(conv, staged=True),
        ),
        *((by_channels,) if conv.inputs else ()),
    )
