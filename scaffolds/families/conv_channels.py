"""Convolution with register blocks over output channels: a block stages the halo of some input channels
and their taps of several output channels, a thread keeps a patch of channels by columns."""

from typing import TYPE_CHECKING

from semantics.task import Task, Workload

from .space import MAX_SHARED_BYTES, MAX_THREADS, Schedule, too_deep
from .text import block, integer

if TYPE_CHECKING:
    from .conv import Convolution


def _repeat(name: str, count: int, body: str) -> str:
    return f"#pragma unroll\nfor (int {name} = 0; {name} < {count}; ++{name}) {{\n{block(body)}\n}}"


def channels_kernel(c: "Convolution", schedule: Schedule) -> tuple[str, str, str]:
    """Kernel body, launcher lines and shared bytes."""
    x, y = integer(schedule["block_x"]), integer(schedule["block_y"])
    deep, columns = integer(schedule["channels"]), integer(schedule["columns"])
    depth = integer(schedule["depth"])
    k, threads = c.filter, x * y
    taps = (
        f"for (int e = t; e < depth * {k} * {k} * {deep}; e += {threads}) {{\n"
        f"    int o = e % {deep};\n    int tap = e / {deep};\n    int ci = ci0 + tap / ({k} * {k});\n"
        f"    bool inside = co0 + o < {c.outputs} && ci < {c.inputs};\n"
        f"    shared[e] = inside ? "
        f"{c.weight}[((co0 + o) * {c.inputs} + ci) * {k} * {k} + tap % ({k} * {k})] : 0.0f;\n}}"
    )
    halo = (
        f"for (int e = t; e < depth * high * wide; e += {threads}) {{\n"
        f"    int ix = left + e % wide - {c.pad};\n    int line = e / wide;\n"
        f"    int iy = top + line % high - {c.pad};\n    int ci = ci0 + line / high;\n"
        f"    bool inside = iy >= 0 && iy < {c.size} && ix >= 0 && ix < {c.size} && ci < {c.inputs};\n"
        f"    shared[window + e] = inside ? {c.pixel('iy', 'ix')} : 0.0f;\n}}"
    )

    def sums(side: str, wide: str, high: str) -> str:
        """The products of a stage, for a filter of `side` and a window of `wide` by `high`."""
        pixel = f"shared[window + (d * {high} + threadIdx.y + ky) * {wide} + threadIdx.x + q * {x} + kx]"
        tap = "\n".join(
            [
                f"float w[{deep}];",
                _repeat("o", deep, f"w[o] = shared[((d * {side} + ky) * {side} + kx) * {deep} + o];"),
                _repeat("q", columns, f"float p = {pixel};\n{_repeat('o', deep, 'acc[q][o] += p * w[o];')}"),
            ]
        )
        unroll = "#pragma unroll\n" if side.isdigit() else ""
        row = f"{unroll}for (int kx = 0; kx < {side}; ++kx) {{\n{block(tap)}\n}}"
        rows = f"{unroll}for (int ky = 0; ky < {side}; ++ky) {{\n{block(row)}\n}}"
        return f"for (int d = 0; d < depth; ++d) {{\n{block(rows)}\n}}"

    common, general = sums("3", str(x * columns + 2), str(y + 2)), sums(k, "wide", "high")
    stage = (
        f"{taps}\n{halo}\n__syncthreads();\n"
        f"if ({k} == 3) {{\n{block(common)}\n}} else {{\n{block(general)}\n}}\n__syncthreads();"
    )
    store = (
        f"int ox = left + threadIdx.x + q * {x};\nint co = co0 + o;\n"
        f"if (oy < side && ox < side && co < {c.outputs}) {{\n"
        f"    {c.y}[((image * {c.outputs} + co) * side + oy) * side + ox] = acc[q][o] + {c.bias}[co];\n}}"
    )
    kernel = "\n".join(
        [
            "extern __shared__ __align__(16) float shared[];",
            f"int t = threadIdx.y * {x} + threadIdx.x;",
            f"int left = blockIdx.x * {x * columns};\nint top = blockIdx.y * {y};",
            f"int parts = ({c.outputs} + {deep - 1}) / {deep};",
            f"int image = blockIdx.z / parts;\nint co0 = blockIdx.z % parts * {deep};",
            f"int wide = {x * columns} + {k} - 1;\nint high = {y} + {k} - 1;",
            f"const int depth = {depth};\nint window = depth * {k} * {k} * {deep};",
            "int oy = top + threadIdx.y;",
            f"float acc[{columns}][{deep}];",
            _repeat("q", columns, _repeat("o", deep, "acc[q][o] = 0.0f;")),
            f"for (int ci0 = 0; ci0 < {c.inputs}; ci0 += depth) {{\n{block(stage)}\n}}",
            _repeat("q", columns, _repeat("o", deep, store)),
        ]
    )
    launch = (
        f"dim3 block({x}, {y});\n"
        f"dim3 grid((side + {x * columns - 1}) / {x * columns}, (side + {y - 1}) / {y}, "
        f"{c.batch} * (({c.outputs} + {deep - 1}) / {deep}));"
    )
    floats = f"({x * columns} + {k} - 1) * ({y} + {k} - 1) + {k} * {k} * {deep}"
    return kernel, launch, f"({floats}) * {4 * depth}"


def reject_channels(c: "Convolution", _task: Task, workload: Workload, schedule: Schedule) -> str | None:
    """Why a schedule breaks CUDA's limits or spills."""
    x, y = integer(schedule["block_x"]), integer(schedule["block_y"])
    deep, columns = integer(schedule["channels"]), integer(schedule["columns"])
    if not 32 <= x * y <= MAX_THREADS // 2:
        return f"a block of {x * y} threads"
    if deep * columns > 64:
        return "a patch of more than 64 outputs spills"
    axes = workload.axes
    halo = axes[c.filter] - 1
    bytes_ = 4 * integer(schedule["depth"]) * ((x * columns + halo) * (y + halo) + axes[c.filter] ** 2 * deep)
    if bytes_ > MAX_SHARED_BYTES:
        return f"{bytes_} bytes of shared memory"
    side = axes[c.size] + 2 * axes[c.pad] - halo
    return too_deep(-(-side // y), axes[c.batch] * -(-axes[c.outputs] // deep))
