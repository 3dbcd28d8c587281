"""Row kernels that move four floats at a time: a row kept in a block's registers, and a row streamed.

A held row is read from memory once, however many passes its operation has. What four floats or the
registers cannot take, the ends of rows whose length is no multiple of four and the rest of longer rows,
is read again in every pass.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from semantics.task import Task, Workload

from .collective import Reduction, shared, warp_all, warps
from .space import Family, Parameter, Reject, Schedule
from .text import block, integer, names, parameters, unit

if TYPE_CHECKING:
    from .rows import RowOp

_Choose = Callable[[Task, Schedule], "RowOp"]
_LANES = "xyzw"
_MAX_HELD = 64
"""Floats of a row that a thread may hold: more would spill."""


def _vector(pointer: str) -> str:
    """C text of four floats at a pointer."""
    return f"*reinterpret_cast<const float4*>({pointer})"


def _repeat(count: int, body: str, name: str = "k") -> str:
    return f"#pragma unroll\nfor (int {name} = 0; {name} < {count}; ++{name}) {{\n{block(body)}\n}}"


class _Held:
    """Text of a kernel whose block holds a row, `width` floats of it in every step of a thread."""

    def __init__(self, task: Task, op: "RowOp", schedule: Schedule) -> None:
        self.op = op
        self.x, self.y = task.inputs[0].name, task.outputs[0].name
        self.along = [t.name for t in task.inputs[1:]]
        self.threads, self.steps = integer(schedule["block"]), integer(schedule["steps"])
        self.stream = schedule["stores"] == "streaming"
        self.width = 4 if schedule["access"] == "float4" else 1
        self.aligned = f"{op.width} % 4 == 0"

    def on_registers(self, text: str, place: str) -> str:
        """`text` with the row's element, read or written, at `place`."""
        for name in (self.x, self.y):
            text = text.replace(f"{name}[row * {self.op.width} + @j]", f"held[{place}]")
        return text

    def each(self, body: str) -> str:
        """`body` for every step of a thread that is inside the row; `q` numbers the step's floats."""
        inside = f"int q = t + k * {self.threads};\nif (q < whole) {{\n{block(body)}\n}}"
        return _repeat(self.steps, inside)

    def lanes(self, text: str) -> str:
        """`text`, in which `@p` is a place among the registers and `@j` in the row, for a step's floats."""
        if self.width == 1:
            return text.replace("@p", "k").replace("@j", "q")
        return _repeat(4, text.replace("@p", "4 * k + c").replace("@j", "4 * q + c"), "c")

    def rest(self, text: str) -> str:
        """`text` for every element that is not in the registers."""
        first = "whole + t" if self.width == 1 else "4 * whole + t"
        body = block(text.replace("@j", "j"))
        return f"for (int j = {first}; j < {self.op.width}; j += {self.threads}) {{\n{body}\n}}"

    def load(self) -> str:
        """Fills `held`."""
        single = self.each(self.lanes(f"held[@p] = {self.x}[row * {self.op.width} + @j];"))
        if self.width == 1:
            return single
        taken = "\n".join(f"held[4 * k + {i}] = four.{lane};" for i, lane in enumerate(_LANES))
        at_once = self.each(f"float4 four = {_vector(f'{self.x} + row * {self.op.width} + 4 * q')};\n{taken}")
        return f"if ({self.aligned}) {{\n{block(at_once)}\n}} else {{\n{block(single)}\n}}"

    def fold(self, folds: tuple[Reduction, ...]) -> str:
        """Declares the states and folds a thread's share of the row."""
        texts = [r.absorb.format(**{n: n for n in r.states}) for r in folds]
        declared = "\n".join(r.declared() for r in folds)
        held = "\n".join(self.on_registers(text, "@p") for text in texts)
        return f"{declared}\n{self.each(self.lanes(held))}\n{self.rest(chr(10).join(texts))}"

    def finish(self) -> str:
        """Writes a thread's share of the row."""
        width, element = self.op.width, self.op.element
        target = f"{self.y}[row * {width} + @j]"
        kept = self.on_registers(element, "@p")
        store = f"__stcs(&{target}, {kept});" if self.stream else f"{target} = {kept};"
        single = self.each(self.lanes(store))
        rest = self.rest(f"{target} = {element};")
        if self.width == 1:
            return f"{single}\n{rest}"
        loads = [f"float4 {n}_four = {_vector(f'{n} + 4 * q')};" for n in self.along if f"{n}[@j]" in element]
        parts = []
        for i, lane in enumerate(_LANES):
            text = kept.replace("@p", f"4 * k + {i}")
            for name in self.along:
                text = text.replace(f"{name}[@j]", f"{name}_four.{lane}")
            parts.append(f"four.{lane} = {text};")
        place = f"reinterpret_cast<float4*>({self.y} + row * {width} + 4 * q)"
        put = f"__stcs({place}, four);" if self.stream else f"*{place} = four;"
        at_once = self.each("\n".join([*loads, "float4 four;", *parts, put]))
        return f"if ({self.aligned}) {{\n{block(at_once)}\n}} else {{\n{block(single)}\n}}\n{rest}"

    def kernel(self) -> str:
        """The whole body."""
        held = self.threads * self.steps
        passes = [f"{self.fold(p.folds)}\n{warps(p.folds)}\n{p.after}".rstrip() for p in self.op.passes]
        return "\n".join(
            [
                *dict.fromkeys(shared(p.folds, self.threads // 32) for p in self.op.passes),
                "int row = blockIdx.x;\nint t = threadIdx.x;",
                f"int lane = t % 32;\nint warp = t / 32;\nconst int warps = {self.threads // 32};",
                f"int whole = min({self.op.width}{' / 4' if self.width == 4 else ''}, {held});",
                f"float held[{self.width * self.steps}];",
                self.load(),
                *passes,
                self.finish(),
            ]
        )


def _translation(task: Task, op: "RowOp", threads: int, kernel: str, grid: str) -> str:
    axes = (op.rows, op.width)
    head = f"__global__ void __launch_bounds__({threads}) {task.name}"
    return unit(
        f"{head}({parameters(task, axes, restrict=True)}) {{\n{block(kernel)}\n}}",
        f"void launch({parameters(task, tuple(task.axes), restrict=False)}) {{\n"
        f"    dim3 grid({grid});\n    dim3 block({threads});\n"
        f"    {task.name}<<<grid, block>>>({names(task, axes)});\n}}",
    )


def held_family(
    prefix: str, choose: _Choose, variants: tuple[Parameter, ...], reject: Reject, variant_of: Schedule
) -> Family:
    """One block a row, the row in its registers. `variant_of` are defaults of `variants` that suit it."""

    def emit(task: Task, _workload: Workload, schedule: Schedule) -> str:
        op = choose(task, schedule)
        kernel = _Held(task, op, schedule).kernel()
        return _translation(task, op, integer(schedule["block"]), kernel, op.rows)

    def spills(task: Task, workload: Workload, schedule: Schedule) -> str | None:
        floats = integer(schedule["steps"]) * (4 if schedule["access"] == "float4" else 1)
        if floats > _MAX_HELD or (floats > 32 and integer(schedule["block"]) > 512):
            return f"{floats} floats of a row in a thread's registers"
        return reject(task, workload, schedule)

    own = tuple(Parameter(p.name, p.choices, variant_of.get(p.name, p.default), p.meaning) for p in variants)
    return Family(
        f"{prefix}-registers",
        "one block a row, read once and kept in registers",
        (
            Parameter("block", (64, 128, 256, 512, 1024), 512, "threads of a block"),
            Parameter("steps", (1, 2, 4, 8, 16, 32), 8, "loads of a thread that stay in registers"),
            Parameter("access", ("single", "float4"), "float4", "floats of a load"),
            Parameter(
                "stores", ("plain", "streaming"), "plain", "whether what is written stays in the cache"
            ),
            *own,
        ),
        emit,
        spills,
    )


def streamed_family(prefix: str, choose: _Choose) -> Family:
    """A row folded to one value, four floats a load, by a warp or by a block."""

    def emit(task: Task, _workload: Workload, schedule: Schedule) -> str:
        op = choose(task, schedule)
        threads, ways = integer(schedule["block"]), integer(schedule["unroll"])
        team = 32 if schedule["team"] == "warp" else threads
        (fold,) = op.passes[0].folds
        absorb = fold.absorb.format(**{n: n for n in fold.states})
        matrix, vector = task.inputs[0].name, task.inputs[1].name
        four = [
            absorb.replace(f"{matrix}[row * {op.width} + @j]", f"a.{lane}").replace(
                f"{vector}[@j]", f"b.{lane}"
            )
            for lane in _LANES
        ]
        loads = [
            f"float4 a = {_vector(f'{matrix} + row * {op.width} + j')};",
            f"float4 b = {_vector(f'{vector} + j')};",
        ]
        unroll = f"#pragma unroll {ways}\n" if ways > 1 else ""
        inner = block("\n".join([*loads, *four]))
        at_once = f"{unroll}for (int j = 4 * t; j < {op.width}; j += {4 * team}) {{\n{inner}\n}}"
        single = f"for (int j = t; j < {op.width}; j += {team}) {{\n{block(absorb.replace('@j', 'j'))}\n}}"
        either = f"if ({op.width} % 4 == 0) {{\n{block(at_once)}\n}} else {{\n{block(single)}\n}}"
        work = f"{fold.declared()}\n{either}"
        store = f"if (t == 0) {{\n    {task.outputs[0].name}[row] = {op.value};\n}}"
        if team == 32:
            inside = f"{work}\n{warp_all((fold,))}\n{store}"
            kernel = (
                f"int t = threadIdx.x % 32;\nint row = blockIdx.x * {threads // 32} + threadIdx.x / 32;\n"
                f"if (row < {op.rows}) {{\n{block(inside)}\n}}"
            )
            each = threads // 32
            grid = op.rows if each == 1 else f"({op.rows} + {each - 1}) / {each}"
        else:
            kernel = (
                f"{shared((fold,), threads // 32)}\nint row = blockIdx.x;\nint t = threadIdx.x;\n"
                f"int lane = t % 32;\nint warp = t / 32;\nconst int warps = {threads // 32};\n"
                f"{work}\n{warps((fold,))}\n{store}"
            )
            grid = op.rows
        return _translation(task, op, threads, kernel, grid)

    return Family(
        f"{prefix}-float4",
        "one warp or one block a row, four floats a load",
        (
            Parameter("block", (32, 64, 128, 256, 512, 1024), 128, "threads of a block"),
            Parameter("team", ("warp", "block"), "block", "who works on a row"),
            Parameter("unroll", (1, 2, 4, 8), 4, "loads of a thread in flight"),
        ),
        emit,
    )
