"""The matrix product for large sizes: shared panels in two buffers, float4 loads, patches in registers.

While a block multiplies one pair of panels it already loads the next into registers. A thread's patch
lies in groups of four rows and columns, apart from each other, so that the threads of a warp read
neighbouring float4 of shared memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semantics.task import Task, Workload

from .space import MAX_SHARED_BYTES, Schedule
from .text import block, integer

if TYPE_CHECKING:
    from .matmul import Product

_PAD = 4
"""Floats between the rows of a panel that is stored turned, to spread its writes over the banks."""
_LANES = "xyzw"
_At = Callable[[str, str], str]


def _repeat(name: str, count: int, body: str) -> str:
    return f"#pragma unroll\nfor (int {name} = 0; {name} < {count}; ++{name}) {{\n{block(body)}\n}}"


@dataclass(frozen=True, slots=True)
class _Panel:
    """How a block brings one operand into shared memory: `side` rows or columns of the output by `depth`
    of the inner axis. `element(s, k)` and `inside(s, k)` are C text; `last` is the operand's last axis and
    `turned` says that it is the inner one, so that the panel stores what it reads turned."""

    name: str
    side: int
    depth: int
    threads: int
    turned: bool
    element: _At
    inside: _At
    last: str

    @property
    def stride(self) -> int:
        """Floats between two depths of a buffer."""
        return self.side + (_PAD if self.turned else 0)

    @property
    def each(self) -> int:
        """Floats that a thread brings."""
        return self.side * self.depth // self.threads

    def declared(self) -> str:
        """The two buffers, and the registers between memory and them."""
        return (
            f"__shared__ __align__(16) float {self.name}[2][{self.depth}][{self.stride}];\n"
            f"float {self.name}_next[{self.each}];"
        )

    def _loads(self, width: int, body: str) -> str:
        """`body` for each load of `width` floats of a thread, at place `s`, `k`."""
        inner, outer, along = ("k", "s", self.depth) if self.turned else ("s", "k", self.side)
        scale = f" * {width}" if width > 1 else ""
        place = (
            f"int e = t + i * {self.threads};\n"
            f"int {outer} = e / {along // width};\nint {inner} = e % {along // width}{scale};"
        )
        return _repeat("i", self.each // width, f"{place}\n{body}")

    def _four(self, text: Callable[[str, str], str]) -> str:
        """`text(s, k)` for four neighbours along the operand's last axis, numbered `c`."""
        return _repeat("c", 4, text("s", "k + c") if self.turned else text("s + c", "k"))

    def fetch(self, vector: bool) -> str:
        """Loads the panel at depth `k0` into the registers, zeros outside the operand."""
        if not vector:
            one = f"{self.inside('s', 'k')} ? {self.element('s', 'k')} : 0.0f"
            return self._loads(1, f"{self.name}_next[i] = {one};")
        take = "\n".join(f"{self.name}_next[4 * i + {n}] = four.{lane};" for n, lane in enumerate(_LANES))
        zero = "\n".join(f"{self.name}_next[4 * i + {n}] = 0.0f;" for n in range(4))
        four = f"float4 four = *reinterpret_cast<const float4*>(&{self.element('s', 'k')});"
        at_once = (
            f"if ({self.inside('s', 'k')}) {{\n{block(four)}\n{block(take)}\n}} else {{\n{block(zero)}\n}}"
        )
        single = self._four(
            lambda s, k: f"{self.name}_next[4 * i + c] = {self.inside(s, k)} ? {self.element(s, k)} : 0.0f;"
        )
        return (
            f"if ({self.last} % 4 == 0) {{\n{block(self._loads(4, at_once))}\n"
            f"}} else {{\n{block(self._loads(4, single))}\n}}"
        )

    def put(self, buffer: str, vector: bool) -> str:
        """Writes the registers to a buffer."""
        if not vector:
            return self._loads(1, f"{self.name}[{buffer}][k][s] = {self.name}_next[i];")
        one = self._four(lambda s, k: f"{self.name}[{buffer}][{k}][{s}] = {self.name}_next[4 * i + c];")
        return self._loads(4, one)


def _group(count: int, threads: int, thread: str, index: str) -> str:
    """C text of the place in the tile of the thread's row or column `index` out of `count`."""
    if count < 8:
        return f"{thread} * {count} + {index}"
    return f"{index} / 4 * {4 * threads} + {thread} * 4 + {index} % 4"


def _read(name: str, panel: str, count: int, threads: int, thread: str) -> str:
    """Reads a thread's `count` values at depth `k` of the current buffer into `name`."""
    if count % 4:
        place = _group(count, threads, thread, "i")
        return f"float {name}[{count}];\n" + _repeat("i", count, f"{name}[i] = {panel}[now][k][{place}];")
    lines = [f"float {name}[{count}];"]
    for g in range(count // 4):
        start = f"{g * 4 * threads} + {thread} * 4" if g else f"{thread} * 4"
        lines.append(f"float4 {name}{g} = *reinterpret_cast<const float4*>(&{panel}[now][k][{start}]);")
        lines += [f"{name}[{4 * g + n}] = {name}{g}.{lane};" for n, lane in enumerate(_LANES)]
    return "\n".join(lines)


def _store(p: "Product", tm: int, tn: int, nx: int, ny: int) -> str:
    row, col = _group(tm, ny, "threadIdx.y", "r"), _group(tn, nx, "threadIdx.x", "c")
    one = (
        f"int row = row0 + {row};\nint col = col0 + {col};\n"
        f"if (row < {p.rows} && col < {p.cols}) {{\n{block(p.store('row', 'col', 'acc[r][c]'))}\n}}"
    )
    return _repeat("r", tm, _repeat("c", tn, one))


def panel_kernel(p: "Product", schedule: Schedule) -> str:
    """The kernel's body; the block is `tile_cols / patch_cols` by `tile_rows / patch_rows` threads."""
    bm, bn, bk = (integer(schedule[name]) for name in ("tile_rows", "tile_cols", "tile_inner"))
    tm, tn = integer(schedule["patch_rows"]), integer(schedule["patch_cols"])
    nx, ny = bn // tn, bm // tm
    vector = schedule["loads"] == "float4"
    left = _Panel(
        "left",
        bm,
        bk,
        nx * ny,
        True,
        lambda s, k: p.a(f"row0 + {s}", f"k0 + {k}"),
        lambda s, k: f"(row0 + {s} < {p.rows} && k0 + {k} < {p.inner})",
        p.inner,
    )
    right = _Panel(
        "right",
        bn,
        bk,
        nx * ny,
        p.transposed,
        lambda s, k: p.b(f"k0 + {k}", f"col0 + {s}"),
        lambda s, k: f"(col0 + {s} < {p.cols} && k0 + {k} < {p.inner})",
        p.inner if p.transposed else p.cols,
    )
    fetch = f"{left.fetch(vector)}\n{right.fetch(vector)}"
    product = "\n".join(
        [
            _read("a", "left", tm, ny, "threadIdx.y"),
            _read("b", "right", tn, nx, "threadIdx.x"),
            _repeat("r", tm, _repeat("c", tn, "acc[r][c] += a[r] * b[c];")),
        ]
    )
    stage = "\n".join(
        [
            f"int k0 = start + {bk};",
            fetch,
            _repeat("k", bk, product),
            "now = 1 - now;",
            left.put("now", vector),
            right.put("now", vector),
            "__syncthreads();",
        ]
    )
    return "\n".join(
        [
            left.declared(),
            right.declared(),
            f"int t = threadIdx.y * {nx} + threadIdx.x;",
            f"int row0 = blockIdx.y * {bm};\nint col0 = blockIdx.x * {bn};",
            f"float acc[{tm}][{tn}];",
            _repeat("r", tm, _repeat("c", tn, "acc[r][c] = 0.0f;")),
            f"{{\n    int k0 = 0;\n{block(fetch)}\n}}",
            "int now = 0;",
            left.put("now", vector),
            right.put("now", vector),
            "__syncthreads();",
            f"for (int start = 0; start < {p.inner}; start += {bk}) {{\n{block(stage)}\n}}",
            _store(p, tm, tn, nx, ny),
        ]
    )


def panel_bounds(schedule: Schedule) -> str:
    """Launch bounds that leave registers for two blocks of 256 threads on a multiprocessor."""
    bm, bn, tm, tn = (integer(schedule[n]) for n in ("tile_rows", "tile_cols", "patch_rows", "patch_cols"))
    threads = (bm // tm) * (bn // tn)
    return f"__launch_bounds__({threads}, {512 // threads}) "


def reject_panel(_task: Task, _workload: Workload, schedule: Schedule) -> str | None:
    """Why a schedule breaks CUDA's limits or leaves a thread without whole loads."""
    bm, bn, bk = (integer(schedule[name]) for name in ("tile_rows", "tile_cols", "tile_inner"))
    tm, tn = integer(schedule["patch_rows"]), integer(schedule["patch_cols"])
    threads = (bm // tm) * (bn // tn)
    if not 64 <= threads <= 256:
        return f"a block of {threads} threads"
    unit = threads * (4 if schedule["loads"] == "float4" else 1)
    if bm * bk % unit or bn * bk % unit:
        return f"{bm} or {bn} by {bk} floats do not go evenly to {threads} threads"
    if bk * (bm + bn) // threads > 32:
        return "more than 32 floats of the next panels in a thread's registers"
    shared = 8 * bk * (bm + bn + 2 * _PAD)
    return f"{shared} bytes of shared memory" if shared > MAX_SHARED_BYTES else None
