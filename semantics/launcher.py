"""The launcher: a declarative list of constants, dim3s, workspaces and launches.

It is the one host function of a candidate. It is checked when a candidate is loaded and evaluated, with
C's types and without overflow, when a candidate is bound to a workload."""

from dataclasses import dataclass, field
from fractions import Fraction

from semantics import ast
from semantics.convert import fold_real, to_bool, to_int
from semantics.core import (
    BLit,
    ILit,
    IntType,
    IParam,
    RLit,
    RNegInf,
    RParam,
    Space,
)
from semantics.declare import alias, check_static, global_item, initial_value
from semantics.elaborate import evaluate
from semantics.inline import TemplateArg, template_argument
from semantics.span import Refusal, Span
from semantics.state import State, Unit
from semantics.types import resolve
from semantics.values import Bool, BoolTy, Int, Null, Ptr, PtrTy, Real, RealTy, Ty, Value, Vec, VecTy, show


@dataclass(frozen=True, slots=True)
class LauncherParam:
    """A launcher parameter. `kind` is `tensor`, `int` or `float`; `type` is the C type as written in the
    source (`const float*`, `int`, `float`), `elem` the element type of a tensor."""

    name: str
    kind: str
    type: str
    const: bool
    elem: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class BoundLaunch:
    """One launch with evaluated configuration; `args` are values for the kernel's parameters."""

    kernel: str
    targs: tuple[TemplateArg, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    args: tuple[Value, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Bound:
    """A launcher at a workload: workspaces (name to element count and type), launches in order, and the
    integer constants it computed, for display. `arrays[k]` is the buffer behind array id k."""

    workspaces: dict[str, tuple[int, str]]
    launches: tuple[BoundLaunch, ...]
    constants: dict[str, int]
    arrays: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Launcher:
    """The launcher of a candidate."""

    function: ast.Function
    params: tuple[LauncherParam, ...]
    module: ast.Module

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def launches(self) -> tuple[ast.Launch, ...]:
        """The launch statements, in order."""
        return tuple(s for s in self.function.body.body if isinstance(s, ast.Launch))


def find_launcher(module: ast.Module, unit: Unit) -> Launcher:
    """The one host function, its parameters checked. Raises Refusal when there is none or more than one."""
    hosts = module.functions("host")
    if not hosts:
        raise Refusal(
            "the launcher is missing", hint="add `void launch(const float* x, float* y, int n) { ... }`"
        )
    if len(hosts) > 1:
        raise Refusal(
            "host code is outside the language", hosts[1].span, f"{hosts[0].name} is already the launcher"
        )
    f = hosts[0]
    if any(p.default is not None for p in f.params):
        raise Refusal("a launcher parameter has no default", f.span)
    if f.returns.base != "void" or f.returns.pointer or f.template or f.bounds:
        raise Refusal("the launcher is a plain void function", f.span)
    strange = [w for w in f.specifiers if w not in ("extern", '"C"', "static", "inline")]
    if strange:
        raise Refusal(f"`{strange[0]}` does not go on the launcher", f.span)
    st = State(unit)
    params: list[LauncherParam] = []
    for p in f.params:
        ty = resolve(st, p.type)
        if p.extents:
            raise Refusal("a launcher parameter is a scalar or a pointer", p.span)
        if any(q.name == p.name for q in params):
            raise Refusal(f"parameter {p.name} is declared twice", p.span)
        if isinstance(ty, PtrTy) and isinstance(ty.elem, IntType | RealTy):
            params.append(LauncherParam(p.name, "tensor", show(ty), ty.const, show(ty.elem), p.span))
        elif isinstance(ty, IntType | BoolTy):
            params.append(LauncherParam(p.name, "int", show(ty), p.type.const, "", p.span))
        elif isinstance(ty, RealTy):
            params.append(LauncherParam(p.name, "float", show(ty), p.type.const, "", p.span))
        else:
            raise Refusal(f"a launcher parameter of type {show(ty)} is outside the language", p.span)
    return Launcher(f, tuple(params), module)


def bind(
    launcher: Launcher, unit: Unit, ints: dict[str, int], reals: dict[str, Fraction], strict: bool = True
) -> Bound:
    """Evaluate the launcher at values for its int and float parameters.

    With `strict=False` missing values stay symbolic: grid, block and shared come back as 1 or 0 where
    they depend on them; this is the check made on loading."""
    run = _Run(launcher, unit, ints, reals, strict)
    for s in launcher.function.body.body:
        run.statement(s)
    if not run.launches:
        raise Refusal(
            "the launcher launches nothing", launcher.function.span, "add kernel<<<grid, block>>>(...);"
        )
    return Bound(run.workspaces, tuple(run.launches), run.constants, tuple(a.name for a in run.st.arrays))


class _Run:
    """One evaluation of a launcher body."""

    def __init__(
        self, launcher: Launcher, unit: Unit, ints: dict[str, int], reals: dict[str, Fraction], strict: bool
    ) -> None:
        self.strict = strict
        self.st = State(unit)
        self.module = launcher.module
        self.workspaces: dict[str, tuple[int, str]] = {}
        self.launches: list[BoundLaunch] = []
        self.constants: dict[str, int] = {}
        self.dims: dict[str, tuple[int, int, int]] = {}
        for item in launcher.module.items:
            global_item(self.st, item)
        self.st.scopes.append({})
        for k, (p, source) in enumerate(zip(launcher.params, launcher.function.params, strict=True)):
            ty = resolve(self.st, source.type)
            self.st.bind(p.name, self._parameter(k, p, ty, ints, reals), p.span)

    def _parameter(
        self, k: int, p: LauncherParam, ty: Ty, ints: dict[str, int], reals: dict[str, Fraction]
    ) -> Value:
        if isinstance(ty, PtrTy):
            array = self.st.array(p.name, Space.GLOBAL, p.elem, None, p.const)
            return Ptr(array, None, ty.elem, ty.const)
        if isinstance(ty, BoolTy):
            known = p.name in ints
            return Bool(BLit(ints[p.name] != 0)) if known else to_bool(Int(IParam(k), IntType.I32), p.span)
        if isinstance(ty, IntType):
            if p.name not in ints:
                return Int(IParam(k, ty), ty)
            value = ints[p.name]
            if not ty.low <= value <= ty.high:
                raise Refusal(f"{p.name} = {value} does not fit {show(ty)}", p.span, "use long long")
            return Int(ILit(value, ty), ty)
        if p.name in reals:
            return Real(RLit(reals[p.name]))
        return Real(RParam(k))

    # ---- statements

    def statement(self, s: ast.Stmt) -> None:
        match s:
            case ast.Decl():
                for v in s.declarators:
                    self._declaration(s, v)
            case ast.Launch():
                self._launch(s)
            case ast.StaticAssert():
                check_static(self.st, s)
            case ast.Alias():
                alias(self.st, s)
            case ast.Empty():
                pass
            case _:
                raise Refusal(
                    "this is not part of a launcher",
                    s.span,
                    "known: const int, dim3, float* = KSHELL_WORKSPACE(float, count), kernel<<<...>>>(...)",
                )

    def _declaration(self, d: ast.Decl, v: ast.Declarator) -> None:
        if set(d.storage) - {"constexpr", "static"} or v.extents or v.type.reference or v.init is None:
            raise Refusal("a launcher declares constants, dim3s and workspaces only", v.span)
        if v.type.base == "dim3" and not v.type.pointer:
            self.dims[v.name] = sizes = self._dim3(v.init)
            known = tuple(self._axis(n, k) for k, n in enumerate(sizes))
            self.st.bind(v.name, Vec(known, VecTy(IntType.U32, 3, "dim3")), v.span)
            return
        if v.type.pointer:
            self._workspace(v)
            return
        if v.type.base not in ("auto",) and not isinstance(
            resolve(self.st, v.type), IntType | RealTy | BoolTy
        ):
            raise Refusal("a launcher declares constants, dim3s and workspaces only", v.span)
        init = v.init.items[0] if isinstance(v.init, ast.InitList) and len(v.init.items) == 1 else v.init
        value = self._known(initial_value(self.st, v.type, init)[0], v.span)
        if isinstance(value, Int) and isinstance(value.expr, ILit):
            self.constants[v.name] = value.expr.value
        self.st.bind(v.name, value, v.span)

    def _workspace(self, v: ast.Declarator) -> None:
        call = v.init
        if not (isinstance(call, ast.Call) and call.name == "KSHELL_WORKSPACE" and len(call.targs) == 1):
            raise Refusal(
                "a pointer of a launcher is a workspace", v.span, "float* t = KSHELL_WORKSPACE(float, count);"
            )
        ty = resolve(self.st, v.type)
        written = call.targs[0]
        elem = resolve(self.st, written) if isinstance(written, ast.CType) else None
        if not isinstance(ty, PtrTy) or ty.elem != elem or not isinstance(elem, IntType | RealTy):
            raise Refusal("the workspace and its pointer differ in type", v.span)
        count = self._integer(call.args[0])
        if count < 1 and self.strict:
            raise Refusal(
                f"workspace {v.name} has {count} elements", call.args[0].span, "at least one is needed"
            )
        self.workspaces[v.name] = (count, show(elem))
        array = self.st.array(v.name, Space.GLOBAL, show(elem), None)
        self.st.bind(v.name, Ptr(array, None, elem, ty.const), v.span)

    def _launch(self, s: ast.Launch) -> None:
        if not 2 <= len(s.config) <= 3:
            raise Refusal(
                "a launch takes grid, block and shared bytes", s.span, "streams are outside the language"
            )
        grid, block = self._dim3(s.config[0]), self._dim3(s.config[1])
        shared = self._integer(s.config[2]) if len(s.config) > 2 else 0
        targs = tuple(self._template(t) for t in s.targs)
        args = tuple(self._known(evaluate(self.st, a), a.span) for a in s.args)
        null = next((a for a, v in zip(s.args, args, strict=True) if isinstance(v, Null)), None)
        if null is not None:
            raise Refusal(
                "a launch passes buffers, not nullptr", null.span, "write a kernel without the pointer"
            )
        if self.strict:
            check_limits(grid, block, shared, s.span)
        self.launches.append(BoundLaunch(s.kernel, targs, grid, block, shared, args, s.span))

    def _template(self, arg: ast.Expr | ast.CType) -> TemplateArg:
        return template_argument(self.st, arg)

    # ---- values

    def _dim3(self, e: ast.Expr | ast.InitList) -> tuple[int, int, int]:
        if isinstance(e, ast.Name) and e.name in self.dims:
            return self.dims[e.name]
        if isinstance(e, ast.Cast) and e.type.base == "dim3" and e.style == "call":
            parts: tuple[ast.Expr | ast.InitList, ...] = e.args
        elif isinstance(e, ast.InitList):
            parts = e.items
            if len(parts) == 1 and isinstance(parts[0], ast.Cast) and parts[0].type.base == "dim3":
                return self._dim3(parts[0])
        else:
            parts = (e,)
        if not 1 <= len(parts) <= 3:
            raise Refusal("dim3 takes one to three integers", e.span)
        values = [self._integer(p) for p in parts if not isinstance(p, ast.InitList)]
        if len(values) != len(parts):
            raise Refusal("dim3 takes one to three integers", e.span)
        x, y, z = [*values, 1, 1][:3]
        return x, y, z

    def _axis(self, size: int, k: int) -> Int:
        if self.strict:
            return Int(ILit(size, IntType.U32), IntType.U32)
        return Int(IParam(len(self.st.arrays) + k, IntType.U32), IntType.U32)

    def _integer(self, e: ast.Expr) -> int:
        value = self._known(to_int(evaluate(self.st, e), e.span), e.span)
        if isinstance(value, Int) and isinstance(value.expr, ILit):
            return value.expr.value
        return 1

    def _known(self, value: Value, span: Span) -> Value:
        """The value as a literal; symbolic ones pass when the check is not strict."""
        if self.st.out:
            raise Refusal("a launcher expression has no effects", span, "use plain arithmetic")
        if isinstance(value, Real):
            number = fold_real(value.expr)
            if number is not None:
                return Real(RLit(number), value.type)
            if isinstance(value.expr, RNegInf) or not self.strict:
                return value
            raise Refusal("this number is not known exactly", span, "use + - * / of constants and parameters")
        if isinstance(value, Int) and not isinstance(value.expr, ILit) and self.strict:
            raise Refusal(
                "this integer leaves the range of its type or divides by zero",
                span,
                "use long long or size_t",
            )
        return value


def check_limits(grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, span: Span) -> None:
    """CUDA's limits on a launch. Raises Refusal."""
    limits = (("grid", grid, (2**31 - 1, 65535, 65535)), ("block", block, (1024, 1024, 64)))
    for what, sizes, most in limits:
        for name, size, high in zip("xyz", sizes, most, strict=True):
            if not 1 <= size <= high:
                raise Refusal(f"{what}.{name} is {size}; it must be 1 to {high}", span)
    threads = block[0] * block[1] * block[2]
    if threads > 1024:
        raise Refusal(f"a block of {threads} threads; the limit is 1024", span)
    if not 0 <= shared <= SHARED_LIMIT:
        raise Refusal(f"{shared} bytes of dynamic shared memory; the limit is {SHARED_LIMIT}", span)


SHARED_LIMIT = 48 * 1024
