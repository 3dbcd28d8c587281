"""A plain kernel for any task with a tensor spec: what a candidate is compared with when no family fits.

One thread computes one output element, or one row of them when a reduction is shared by the row (softmax,
norms). Sums and maxima are plain loops, computed once where their index variables allow. Shapes are
literal, as in the spec: the source fits one workload."""

from dataclasses import dataclass, field
from itertools import count
from math import prod

import numpy as np

from semantics import spec as sp
from semantics.core import CmpOp, RealFn, RealOp
from semantics.task import Task

THREADS = 256
_INDENT = "    "
_FUNCTIONS = {
    RealFn.ABS: "fabsf",
    RealFn.EXP: "expf",
    RealFn.LOG: "logf",
    RealFn.SQRT: "sqrtf",
    RealFn.RSQRT: "rsqrtf",
    RealFn.TANH: "tanhf",
    RealFn.ERF: "erff",
    RealFn.SIN: "sinf",
    RealFn.COS: "cosf",
}
_INFIX = {RealOp.ADD: "+", RealOp.SUB: "-", RealOp.MUL: "*", RealOp.DIV: "/"}
_INDEX = {sp.IxOp.ADD: "+", sp.IxOp.SUB: "-", sp.IxOp.MUL: "*", sp.IxOp.DIV: "/", sp.IxOp.MOD: "%"}
_COMPARE = {CmpOp.LT: "<", CmpOp.LE: "<=", CmpOp.EQ: "=="}


def plain_source(task: Task, spec: sp.Spec) -> str:
    """A candidate's text, one kernel an output."""
    inputs = [t.name for t in task.inputs if t.name in spec.inputs]
    kernels, launches = [], []
    for index, output in enumerate(spec.outputs):
        name = f"plain_{index}"
        kernels.append(_kernel(name, inputs, spec, output))
        threads = prod(output.extents[: _shared_prefix(output)])
        blocks = (threads + THREADS - 1) // THREADS
        launches.append(f"{name}<<<{blocks}, {THREADS}>>>({', '.join([*inputs, output.name])});")
    outputs = [o.name for o in spec.outputs]
    signature = ", ".join([*(f"const float* {n}" for n in inputs), *(f"float* {n}" for n in outputs)])
    body = "".join(f"{_INDENT}{line}\n" for line in launches)
    return "\n".join([*kernels, f"void launch({signature}) {{\n{body}}}\n"])


# ---------------------------------------------------------------- free variables


def _of_index(ix: sp.Ix) -> frozenset[str]:
    match ix:
        case sp.IxLit():
            return frozenset()
        case sp.IxVar(name):
            return frozenset({name})
        case sp.IxBin(_, a, b):
            return _of_index(a) | _of_index(b)


def _of_condition(cond: sp.IxCond) -> frozenset[str]:
    match cond:
        case sp.IxCmp(_, a, b):
            return _of_index(a) | _of_index(b)
        case sp.IxAll(parts):
            return frozenset().union(*map(_of_condition, parts))


def _free(e: sp.SExpr) -> frozenset[str]:
    match e:
        case sp.Const():
            return frozenset()
        case sp.Read(_, at):
            return frozenset().union(*map(_of_index, at))
        case sp.Un(_, a):
            return _free(a)
        case sp.Bin(_, a, b):
            return _free(a) | _free(b)
        case sp.Sum(var, _, body) | sp.MaxOver(var, _, body):
            return _free(body) - {var}
        case sp.Where(cond, a, b):
            return _of_condition(cond) | _free(a) | _free(b)


def _reductions(e: sp.SExpr) -> list[sp.Sum | sp.MaxOver]:
    match e:
        case sp.Sum(_, _, body) | sp.MaxOver(_, _, body):
            return [e, *_reductions(body)]
        case sp.Un(_, a):
            return _reductions(a)
        case sp.Bin(_, a, b) | sp.Where(_, a, b):
            return [*_reductions(a), *_reductions(b)]
        case _:
            return []


def _shape(e: sp.SExpr) -> str:
    """The same text for reductions that differ only in the names of their variables."""
    text = repr(e)
    for index, reduction in enumerate(_reductions(e)):
        text = text.replace(f"var='{reduction.var}'", f"var='#{index}'")
        text = text.replace(f"IxVar(name='{reduction.var}')", f"IxVar(name='#{index}')")
    return text


def _shared_prefix(output: sp.OutputSpec) -> int:
    """How many leading output variables name a thread; the others are loops inside it."""
    needed = [_free(r) & set(output.vars) for r in _reductions(output.body)]
    shortest = len(output.vars)
    for names in needed:
        last = max((output.vars.index(n) + 1 for n in names), default=0)
        shortest = min(shortest, last)
    return shortest


# ---------------------------------------------------------------- emission


@dataclass(slots=True)
class _Scope:
    """Statements under construction and the variables bound in and around them. Code must not move out
    of a `guarded` scope: a condition protects its reads."""

    bound: frozenset[str]
    guarded: bool = False
    lines: list[str] = field(default_factory=list)


class _Writer:
    """Writes the body of one kernel, innermost scope last."""

    def __init__(self, spec: sp.Spec, bound: frozenset[str]) -> None:
        self._shapes = spec.inputs
        self._scopes = [_Scope(bound)]
        self._names = count()
        self._done: dict[tuple[int, str], str] = {}

    @property
    def lines(self) -> list[str]:
        """Statements of the outermost scope."""
        return self._scopes[0].lines

    def loop(self, var: str, extent: int) -> None:
        """Open a loop."""
        self._scopes.append(_Scope(self._scopes[-1].bound | {var}))
        self._scopes[-1].lines.append(f"for (int {var} = 0; {var} < {extent}; {var}++) {{")

    def close(self) -> None:
        """Close the innermost scope into the one around it."""
        scope = self._scopes.pop()
        head, *body = scope.lines
        self._scopes[-1].lines += [head, *(_INDENT + line for line in body), "}"]
        level = len(self._scopes)
        self._done = {k: v for k, v in self._done.items() if k[0] < level}

    def add(self, line: str) -> None:
        """A statement of the innermost scope."""
        self._scopes[-1].lines.append(line)

    def value(self, e: sp.SExpr) -> str:
        """C text of the value, after the statements it needs."""
        match e:
            case sp.Const(value):
                text = str(np.float32(float(value)))
                return f"{text}f" if any(c in text for c in ".e") else f"{text}.0f"
            case sp.Read(name, at):
                return f"{name}[{self._address(self._shapes[name], at)}]"
            case sp.Un(RealFn.NEG, a):
                return f"(-{self.value(a)})"
            case sp.Un(fn, a):
                return f"{_FUNCTIONS[fn]}({self.value(a)})"
            case sp.Bin(RealOp.MAX | RealOp.MIN as op, a, b):
                return f"{'fmaxf' if op is RealOp.MAX else 'fminf'}({self.value(a)}, {self.value(b)})"
            case sp.Bin(op, a, b):
                return f"({self.value(a)} {_INFIX[op]} {self.value(b)})"
            case sp.Where(cond, a, b):
                return self._choice(cond, a, b)
            case sp.Sum() | sp.MaxOver():
                return self._reduction(e)

    def _address(self, shape: tuple[int, ...], at: tuple[sp.Ix, ...]) -> str:
        text = "0"
        for extent, ix in zip(shape, at, strict=True):
            text = self._index(ix) if text == "0" else f"({text}) * {extent} + {self._index(ix)}"
        return text

    def _index(self, ix: sp.Ix) -> str:
        match ix:
            case sp.IxLit(value):
                return str(value)
            case sp.IxVar(name):
                return name
            case sp.IxBin(op, a, b):
                return f"({self._index(a)} {_INDEX[op]} {self._index(b)})"

    def _condition(self, cond: sp.IxCond) -> str:
        match cond:
            case sp.IxCmp(op, a, b):
                return f"{self._index(a)} {_COMPARE[op]} {self._index(b)}"
            case sp.IxAll(parts):
                return " && ".join(f"({self._condition(p)})" for p in parts) or "true"

    def _choice(self, cond: sp.IxCond, a: sp.SExpr, b: sp.SExpr) -> str:
        name = f"t{next(self._names)}"
        self.add(f"float {name} = 0.0f;")
        for condition, side in ((self._condition(cond), a), (f"!({self._condition(cond)})", b)):
            self._scopes.append(_Scope(self._scopes[-1].bound, guarded=True, lines=[f"if ({condition}) {{"]))
            value = self.value(side)
            self.add(f"{name} = {value};")
            self.close()
        return name

    def _reduction(self, e: sp.Sum | sp.MaxOver) -> str:
        level = len(self._scopes) - 1
        while level and not self._scopes[level].guarded and _free(e) <= self._scopes[level - 1].bound:
            level -= 1
        shape = _shape(e)
        for k in range(level + 1):
            if (k, shape) in self._done:
                return self._done[k, shape]
        inner, self._scopes = self._scopes[level + 1 :], self._scopes[: level + 1]
        name = f"t{next(self._names)}"
        start = "0.0f" if isinstance(e, sp.Sum) else "-INFINITY"
        self.add(f"float {name} = {start};")
        self.loop(e.var, e.extent)
        value = self.value(e.body)
        self.add(f"{name} += {value};" if isinstance(e, sp.Sum) else f"{name} = fmaxf({name}, {value});")
        self.close()
        self._scopes += inner
        self._done[level, shape] = name
        return name


def _kernel(name: str, inputs: list[str], spec: sp.Spec, output: sp.OutputSpec) -> str:
    prefix = _shared_prefix(output)
    total = prod(output.extents[:prefix])
    writer = _Writer(spec, frozenset(output.vars[:prefix]))
    rest = "p"
    for k in reversed(range(prefix)):
        last = k == 0
        writer.add(f"int {output.vars[k]} = {rest if last else f'{rest} % {output.extents[k]}'};")
        rest = f"{rest} / {output.extents[k]}"
    for k in range(prefix, len(output.vars)):
        writer.loop(output.vars[k], output.extents[k])
    value = writer.value(output.body)
    at = tuple(sp.IxVar(v) for v in output.vars)
    writer.add(f"{output.name}[{writer._address(output.extents, at)}] = {value};")
    for _ in range(prefix, len(output.vars)):
        writer.close()
    params = ", ".join(
        [*(f"const float* __restrict__ {n}" for n in inputs), f"float* __restrict__ {output.name}"]
    )
    body = "".join(f"{_INDENT * 2}{line}\n" for line in writer.lines)
    guard = f"{_INDENT}int p = blockIdx.x * blockDim.x + threadIdx.x;\n{_INDENT}if (p < {total}) {{\n"
    return f"__global__ void {name}({params}) {{\n{guard}{body}{_INDENT}}}\n}}\n"
