"""A candidate loaded: parsed, checked, and ready to be bound to a task's workload."""

from dataclasses import dataclass, field
from fractions import Fraction

from semantics import ast
from semantics.constants import BYTES, ROOM
from semantics.convert import convert, to_int
from semantics.core import (
    Barrier,
    If,
    ILit,
    IntType,
    Kernel,
    KernelCall,
    Plan,
    RLit,
    RNegInf,
    Shfl,
    ShflI,
    Space,
    Stmt,
    SyncWarp,
    Vote,
    While,
)
from semantics.declare import global_item
from semantics.elaborate import evaluate
from semantics.inline import TemplateArg, bind_template, lower_kernel, make_unit
from semantics.launcher import SHARED_LIMIT, Bound, BoundLaunch, Launcher, LauncherParam, bind, find_launcher
from semantics.literals import real_literal
from semantics.parser import parse
from semantics.span import Refusal
from semantics.state import State, Unit
from semantics.task import Task, Workload
from semantics.types import resolve, scalar_type
from semantics.values import BoolTy, Int, Ptr, PtrTy, Real, Ty, Value, constant, show, width

DTYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "int32": "int",
    "int64": "long long",
}


def load(source: str) -> "Program":
    """Parse and check a candidate. Raises Refusal with line, column, reason and a hint."""
    try:
        return _load(source)
    except RecursionError:
        raise Refusal("the source nests too deeply", hint="split expressions and helpers") from None


def _load(source: str) -> "Program":
    module = parse(source)
    unit = make_unit(module)
    kernels = {f.name: f for f in module.functions("global")}
    if not kernels:
        raise Refusal("there is no kernel", hint="write a `__global__ void name(...)` function")
    launcher = find_launcher(module, unit)
    program = Program(source, module, launcher, unit, kernels)
    program.check()
    return program


@dataclass(slots=True)
class Program:
    """A checked candidate. `module` is its surface AST, `launcher` its launcher."""

    source: str
    module: ast.Module
    launcher: Launcher
    unit: Unit
    kernels: dict[str, ast.Function]
    lowered: dict[tuple[str, tuple[TemplateArg, ...]], Kernel] = field(default_factory=dict)

    @property
    def uses_barriers(self) -> bool:
        """Whether any kernel lowered so far has a `__syncthreads()`."""
        return any(_has(k.body, (Barrier,)) for k in self.lowered.values())

    @property
    def uses_warps(self) -> bool:
        """Whether any kernel lowered so far has a warp operation."""
        return any(_has(k.body, (Shfl, ShflI, Vote, SyncWarp)) for k in self.lowered.values())

    def check(self) -> None:
        """Check the launcher and lower its kernels before sizes are known. Raises Refusal."""
        for statement in self.launcher.launches:
            if statement.kernel not in self.kernels:
                raise Refusal(f"unknown kernel {statement.kernel!r}", statement.span)
        bound = bind(self.launcher, self.unit, {}, {}, strict=False)
        for launch in bound.launches:
            self._arguments(launch)
            self.kernel(launch.kernel, launch.targs)
        for name, f in self.kernels.items():
            if not f.template:
                self.kernel(name, ())

    def kernel(self, name: str, targs: tuple[TemplateArg, ...] = ()) -> Kernel:
        """A kernel lowered for template arguments, cached. Raises Refusal."""
        key = (name, targs)
        if key not in self.lowered:
            self.lowered[key] = lower_kernel(self.module, self.unit, self.kernels[name], targs)
        return self.lowered[key]

    def plan(self, task: Task, workload: Workload) -> Plan:
        """The launches at a workload. Raises Refusal when they do not fit the task or CUDA's limits."""
        broken = task.broken_constraint(workload)
        if broken:
            raise Refusal(f"the sizes violate {broken} of task {task.name}")
        buffers, ints, reals = self._parameters(task, workload)
        bound = bind(self.launcher, self.unit, ints, reals)
        for name, size in bound.workspaces.items():
            buffers[name] = size
        calls = tuple(self._call(launch, bound, buffers) for launch in bound.launches)
        return Plan(calls, buffers, tuple(bound.workspaces))

    def _parameters(
        self, task: Task, workload: Workload
    ) -> tuple[dict[str, tuple[int, str]], dict[str, int], dict[str, Fraction]]:
        """Bind launcher parameters by name: tensors, axes, scalars of the task."""
        shapes = task.shapes(workload)
        tensors = {t.name: t for t in (*task.inputs, *task.outputs)}
        outputs = {t.name for t in task.outputs}
        buffers: dict[str, tuple[int, str]] = {}
        ints: dict[str, int] = {}
        reals: dict[str, Fraction] = {}
        for p in self.launcher.params:
            if p.kind == "tensor" and p.name in tensors:
                self._check_tensor(p, tensors[p.name].dtype, p.name in outputs)
                count = 1
                for extent in shapes[p.name]:
                    count *= extent
                buffers[p.name] = (count, p.elem)
            elif p.kind == "int" and p.name in workload.axes:
                ints[p.name] = workload.axes[p.name]
            elif p.kind == "float" and p.name in task.scalars:
                reals[p.name] = real_literal(task.scalars[p.name])
            else:
                raise _unknown_parameter(p, task)
        missing = sorted(outputs - set(buffers))
        if missing:
            raise Refusal(
                f"the launcher lacks output {missing[0]}", self.launcher.function.span, "add the parameter"
            )
        return buffers, ints, reals

    def _check_tensor(self, p: LauncherParam, dtype: str, output: bool) -> None:
        elem = DTYPES.get(dtype)
        if p.elem != elem:
            raise Refusal(f"{p.name} has elements of type {elem}, not {p.elem}", p.span)
        if output == p.const:
            form = f"{elem}* {p.name}" if output else f"const {elem}* {p.name}"
            raise Refusal(f"{p.name} is an {'output' if output else 'input'}", p.span, f"declare it `{form}`")

    # ---- launches

    def _types(self, launch: BoundLaunch) -> list[Ty]:
        """Types of a kernel's parameters at a launch."""
        st = self._scope(launch)
        return [resolve(st, p.type) for p in self.kernels[launch.kernel].params]

    def _scope(self, launch: BoundLaunch) -> State:
        """What names mean in the head of a launched kernel."""
        st = State(self.unit)
        for item in self.module.items:
            global_item(st, item)
        st.scopes.append({})
        st.types.append({})
        bind_template(st, self.kernels[launch.kernel], list(launch.targs), launch.span)
        return st

    def _arguments(self, launch: BoundLaunch) -> list[Value]:
        """Arguments of a launch converted to the kernel's parameter types."""
        f = self.kernels[launch.kernel]
        statement = next(s for s in self.launcher.launches if s.span == launch.span)
        if len(launch.args) != len(f.params):
            hint = "a launch writes default arguments out" if any(p.default for p in f.params) else ""
            given = len(launch.args)
            raise Refusal(f"{f.name} takes {len(f.params)} arguments, not {given}", launch.span, hint)
        out: list[Value] = []
        for value, ty, written in zip(launch.args, self._types(launch), statement.args, strict=True):
            converted = convert(value, ty, written.span)
            if isinstance(ty, PtrTy) and isinstance(converted, Ptr) and converted.offset is not None:
                raise Refusal("a launch passes whole buffers", written.span, "pass the offset as an integer")
            out.append(converted)
        return out

    def _call(self, launch: BoundLaunch, bound: Bound, buffers: dict[str, tuple[int, str]]) -> KernelCall:
        f = self.kernels[launch.kernel]
        kernel = self.kernel(launch.kernel, launch.targs)
        self._check_bounds(f, launch)
        static = sum(
            (a.size or 0) * element_width(a.elem) for a in kernel.arrays if a.space is Space.SHARED and a.size
        )
        if static + launch.shared_bytes > SHARED_LIMIT:
            total = static + launch.shared_bytes
            raise Refusal(
                f"{f.name} uses {total} bytes of shared memory; the limit is {SHARED_LIMIT}", launch.span
            )
        args = tuple(_argument(v, bound, launch) for v in self._arguments(launch))
        for p, value in zip(f.params, args, strict=True):
            if BYTES + p.name in bound.constants:
                _check_filled(p, value, bound.constants, buffers)
        return KernelCall(kernel, launch.grid, launch.block, launch.shared_bytes, args, launch.span)

    def _check_bounds(self, f: ast.Function, launch: BoundLaunch) -> None:
        if not f.bounds:
            return
        st = self._scope(launch)
        most = constant(to_int(evaluate(st, f.bounds[0]), f.bounds[0].span))
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        if most is None or threads > most:
            raise Refusal(
                f"a block of {threads} threads breaks __launch_bounds__({most}) of {f.name}", launch.span
            )


def _argument(value: Value, bound: Bound, launch: BoundLaunch) -> str | int | Fraction:
    match value:
        case Ptr(array):
            return bound.arrays[array]
        case Int(ILit(number)):
            return number
        case Real(RLit(number)):
            return number
        case Real(RNegInf()):
            raise Refusal("-INFINITY is no launch argument", launch.span)
    known = constant(value)
    if known is None:
        raise Refusal("a launch argument leaves the range of its parameter's type", launch.span, "use size_t")
    return known


def _check_filled(
    p: ast.Param,
    value: str | int | Fraction,
    known: dict[str, int],
    buffers: dict[str, tuple[int, str]],
) -> None:
    """A constant array takes the whole of the buffer behind it, and has room for it."""
    count, elem = buffers[str(value)]
    size, room = known[BYTES + p.name], known[ROOM + p.name]
    if size != count * element_width(elem):
        raise Refusal(
            f"{size} bytes are copied to {p.name}; {value} has {count * element_width(elem)}",
            p.span,
            "copy the whole buffer",
        )
    if size > room:
        raise Refusal(f"{size} bytes are copied to {p.name}, which has {room}", p.span, "make it larger")


def element_width(elem: str) -> int:
    """Bytes of an array element by its C type."""
    by_name = {show(t): width(t) for t in (*IntType, BoolTy())}
    if elem in by_name:
        return by_name[elem]
    ty = scalar_type("half" if elem == "__half" else elem)
    return width(ty) if ty is not None else 4


def _unknown_parameter(p: LauncherParam, task: Task) -> Refusal:
    tensors = ", ".join(t.name for t in (*task.inputs, *task.outputs))
    known = f"tensors {tensors}; axes {', '.join(task.axes)}"
    if task.scalars:
        known += f"; scalars {', '.join(task.scalars)}"
    return Refusal(f"task {task.name} has no {p.kind} named {p.name!r}", p.span, known)


def _has(body: tuple[Stmt, ...], kinds: tuple[type, ...]) -> bool:
    for s in body:
        if isinstance(s, kinds):
            return True
        if isinstance(s, If) and (_has(s.then, kinds) or _has(s.other, kinds)):
            return True
        if isinstance(s, While) and _has(s.body, kinds):
            return True
    return False
